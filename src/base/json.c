// SPDX-License-Identifier: MIT
//
// What every JSON that we write needs: numbers that do not fit become the
// largest that does, strings that are no UTF-8 keep what can be read of them.
#include "base/json.h"

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
