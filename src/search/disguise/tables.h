// SPDX-License-Identifier: MIT
//
// tables.h - blocks of the heap that lead to two coroutines or more, and pointers to them that lie outside:
// of arrays that count from one, of tables that are addressed by descriptor from the lowest one on.
#pragma once

#include "search/search.h"

struct table {
	struct span block;
	uint64_t element; // bytes between two of its words that lead to somebody
};

struct tables {          // the caller frees v
	struct table *v; // sorted
	size_t n;
};

// Those that lead to so many groups at least and that nothing reaches, of a graph that has been spread.
// *near: where such pointers point. False if out of memory.
bool tables_find(struct tables *t, struct search *s, unsigned least, struct span *near);
// One that begins not more than a page further up, or ended not more than one further down; NULL.
const struct table *tables_near(const struct tables *t, uint64_t address);
// Is the word at `at`, with this value near `t`, as a base of it would be? in: the block of the heap into
// which it points, or NULL.
bool tables_is_base(struct search *s, const struct table *t, uint64_t at, uint64_t address,
		    const struct span *in);
