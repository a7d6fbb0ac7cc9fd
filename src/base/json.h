// SPDX-License-Identifier: MIT
//
// json.h - helpers to read and write JSON.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

json_t *json_count(uint64_t v);
// A string of the target's (a path, a name), or null for NULL. It may be no
// UTF-8: such bytes become '?'.
json_t *json_text(const char *s);
json_t *json_hex(uint64_t v); // "0x7f00"
// Writes *o as one line, and releases it. False: o is NULL, or it could not be written.
bool json_line(FILE *out, json_t *o);

// Reads a file of one JSON object a line (file_open, O_NOFOLLOW) and calls `each` for them until one is not
// 0, which is returned. Other lines, and one that was cut off, are counted in *bad; one that is too long for
// any line is the last that is read. No such file: 0. Or -errno.
int json_each_line(int folder, const char *name, int (*each)(void *ctx, const json_t *o), void *ctx,
		   uint64_t *bad);
