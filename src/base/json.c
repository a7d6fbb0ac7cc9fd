// SPDX-License-Identifier: MIT
//
// What all our JSON needs: numbers out of range become the largest possible one, and of
// strings that are not UTF-8 the readable part is kept.
#include "base/json.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/file.h"

#define LINE_MOST (4u << 20) // none that ctp-run writes comes near it

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

bool json_line(FILE *out, json_t *o)
{
	bool written = o && !json_dumpf(o, out, JSON_COMPACT) && fputc('\n', out) != EOF;
	json_decref(o);
	return written;
}

// As getline, but memory does not grow with what a file claims to be a line.
static size_t get_line(char *line, size_t most, FILE *f)
{
	size_t n = 0;
	for (int c; n < most && (c = getc_unlocked(f)) != EOF;)
		if ((line[n++] = (char)c) == '\n')
			break;
	return n;
}

int json_each_line(int folder, const char *name, int (*each)(void *ctx, const json_t *o), void *ctx,
		   uint64_t *bad)
{
	int fd = file_open(folder, name, O_NOFOLLOW);
	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	FILE *f = fdopen(fd, "r");
	char *line = f ? malloc(LINE_MOST) : NULL;
	int r = line ? 0 : -ENOMEM;
	if (!f)
		close(fd);
	for (size_t n; !r && (n = get_line(line, LINE_MOST, f)) > 0;) {
		json_t *o = n < LINE_MOST ? json_loadb(line, n, 0, NULL) : NULL;
		if (json_is_object(o))
			r = each(ctx, o);
		else
			++*bad;
		json_decref(o);
		if (n == LINE_MOST)
			break;
	}
	free(line);
	if (f)
		fclose(f);
	return r;
}
