// SPDX-License-Identifier: MIT
//
// row.h - one row of a table on its way to a target. Values are put in the order of the schema's
// columns; row_done() says whether each has the column's type.
#pragma once

#include <stdint.h>

#include "analyze/export/schema.h"

struct row_value {
	bool null;
	int64_t number; // SCHEMA_INT, SCHEMA_BOOL
	const char *text;
	size_t bytes;
};

struct row {
	const struct schema_table *table;
	unsigned n;
	bool wrong; // a value of another type than the column's, or none where there must be one
	bool full;  // no memory
	struct row_value values[SCHEMA_COLUMNS_MOST];
	char **owned; // texts that were not UTF-8, or copied
	unsigned nowned;
};

void row_begin(struct row *r, const struct schema_table *table);
void row_deinit(struct row *r);
// A text of the target's, which is there until the row has been handed on: bytes that are no UTF-8 each
// become U+FFFD. NULL is null.
void row_text(struct row *r, const char *s);
// The same of a text that does not outlive the caller.
void row_copy(struct row *r, const char *s);
// 0, -EINVAL: the row is not what the schema says, or -ENOMEM.
int row_done(const struct row *r);

static inline void row_put(struct row *r, struct row_value v, enum schema_type type)
{
	if (r->n < r->table->n &&
	    (v.null ? r->table->columns[r->n].nullable : r->table->columns[r->n].type == type))
		r->values[r->n] = v;
	else
		r->wrong = true;
	r->n += r->n < r->table->n;
}
static inline void row_int(struct row *r, int64_t v)
{
	row_put(r, (struct row_value){.number = v}, SCHEMA_INT);
}
// Counts and times beyond 2^63 are none.
static inline void row_count(struct row *r, uint64_t v)
{
	row_int(r, v > INT64_MAX ? INT64_MAX : (int64_t)v);
}
static inline void row_bool(struct row *r, bool v)
{
	row_put(r, (struct row_value){.number = v}, SCHEMA_BOOL);
}
static inline void row_null(struct row *r)
{
	row_put(r, (struct row_value){.null = true}, SCHEMA_INT);
}
// A number, of which 0 means that there is none.
static inline void row_some(struct row *r, uint64_t v)
{
	if (v)
		row_count(r, v);
	else
		row_null(r);
}
// A text of ours, which is plain ASCII and outlives the row.
static inline void row_word(struct row *r, const char *s, size_t bytes)
{
	row_put(r, (struct row_value){.text = s, .bytes = bytes}, SCHEMA_TEXT);
}
