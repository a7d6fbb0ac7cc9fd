// SPDX-License-Identifier: MIT
//
// A line is one object without line breaks: readers take the file line by line.
#include "engine/sets/set_line.h"

void set_line(FILE *out, json_t *o)
{
	if (!o)
		return;
	json_dumpf(o, out, JSON_COMPACT);
	fputc('\n', out);
	json_decref(o);
}
