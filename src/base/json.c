// SPDX-License-Identifier: MIT
//
// What every JSON that we write needs: numbers that do not fit become the
// largest that does, strings that are no UTF-8 keep what can be read of them.
#include "base/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

json_t *json_count(uint64_t v)
{
	return json_integer(v > INT64_MAX ? INT64_MAX : (json_int_t)v);
}

json_t *json_text(const char *s)
{
	json_t *j = s ? json_string(s) : json_null();
	if (j)
		return j;
	char *copy = strdup(s);
	for (char *p = copy; p && *p; p++)
		if (*p & 0x80)
			*p = '?';
	j = copy ? json_string(copy) : NULL;
	free(copy);
	return j ? j : json_null();
}

json_t *json_hex(uint64_t v)
{
	char text[32];
	snprintf(text, sizeof(text), "0x%llx", (unsigned long long)v);
	return json_string(text);
}

int json_each_line(const char *path, int (*each)(void *ctx, const json_t *o), void *ctx, uint64_t *bad)
{
	FILE *f = fopen(path, "re");
	if (!f)
		return errno == ENOENT ? 0 : -errno;
	char *line = NULL;
	size_t room = 0;
	ssize_t n;
	int r = 0;
	while (!r && (n = getline(&line, &room, f)) > 0) {
		json_t *o = json_loadb(line, (size_t)n, 0, NULL);
		if (json_is_object(o))
			r = each(ctx, o);
		else
			++*bad;
		json_decref(o);
	}
	free(line);
	fclose(f);
	return r;
}
