// SPDX-License-Identifier: MIT
//
// there.h - which pages of a region are memory. A region is sparse, and to read a page that
// was never written allocates it. So counters and numbers that the program writes are not
// enough to read a row: its page must exist. A page that does not exist holds zeros: no row.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "ctp/region.h"

enum { CTP_THERE_KNOWN = 8 };

// What a reader asks by. One thread at a time.
struct ctp_there {
	int fd; // of the region's file
	unsigned next;
	// Stretches that were there: what lies in them is looked at without another question. If the
	// program has taken pages out since, no more of them come back than there were.
	struct {
		uint64_t from, to;
	} known[CTP_THERE_KNOWN];
};

// May this row, of which the first bytes lie at `at`, be read?
bool ctp_there(const struct ctp_region *r, const void *at);
// Is all of that there?
bool ctp_there_all(const struct ctp_region *r, const void *at, uint64_t bytes);

// The rows of a table that are there, in order:
//	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1))
struct ctp_walk {
	struct ctp_there *there;
	uint64_t off, each, n;
	uint64_t upto; // rows before it, from the last answer on, are there
	uint64_t rows; // given so far
};

struct ctp_walk ctp_walk(const struct ctp_region *r, const void *table, size_t each, uint64_t n);
struct ctp_walk ctp_walk_states(const struct ctp_region *r); // of the stations that are in use
struct ctp_walk ctp_walk_fds(const struct ctp_region *r);    // up to the highest number
struct ctp_walk ctp_walk_incidents(const struct ctp_region *r);
uint64_t ctp_walk_seek(struct ctp_walk *w, uint64_t i);

static inline uint64_t ctp_walk_from(struct ctp_walk *w, uint64_t i)
{
	w->rows++;
	return i < w->upto ? i : ctp_walk_seek(w, i);
}
