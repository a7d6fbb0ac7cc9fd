// SPDX-License-Identifier: MIT
//
// table.h - one table of the last snapshot (spec/trace.md, "Tables").
#pragma once

#include <stdbool.h>

#include "base/file.h"

#define TABLE_HEADER_BYTES 64u

struct table {
	struct file_map map;
	const unsigned char *rows; // 8-byte aligned
	size_t n;
	size_t row_bytes; // with the index
	bool indexed;
	uint64_t time; // ticks of the copy
};

// Opens `name` in the folder and checks that its records are what we know: `bytes` each,
// without the index. 0, -ENOENT, -EPROTO, or why file_open refuses it. A table whose last row is not whole is
// none (-EPROTO).
int table_open(struct table *t, int folder, const char *name, size_t bytes, bool indexed);
void table_close(struct table *t);

static inline const void *table_row(const struct table *t, size_t i)
{
	return t->rows + i * t->row_bytes + (t->indexed ? 8 : 0);
}
static inline uint64_t table_index(const struct table *t, size_t i)
{
	return *(const uint64_t *)(const void *)(t->rows + i * t->row_bytes);
}
