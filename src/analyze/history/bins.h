// SPDX-License-Identifier: MIT
//
// bins.h - what filled a span of time, in equal bins of several widths: a timeline that is
// drawn from them costs the same for ten switches and for ten million. A run of equal bins is
// one cell.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define BINS_LEVELS 3
#define BINS_STEP 8 // a bin of a level is so many of the one before it
#define BINS_TOPS 8 // entities that are counted at once in a bin
#define BINS_KINDS 3

struct bins_cell {
	uint32_t repeat;
	uint32_t transitions;      // in each
	uint8_t share[BINS_KINDS]; // of its time, percent; what was not told is what lacks to 100
	uint8_t top_share; // at least so much of its time was `top`'s; 0: nobody had a fifth of it for sure
	uint64_t top;
};

struct bins_top {
	uint64_t id, ns, error; // ns - error at least
};

struct bins_level {
	uint64_t width; // ns
	uint64_t open;  // the bin that is being filled
	uint64_t ns[BINS_KINDS];
	uint32_t transitions;
	struct bins_top tops[BINS_TOPS];
	unsigned ntops;
	struct bins_cell *cells;
	size_t n, capacity;
	uint64_t next; // bin behind the last cell
};

struct bins {
	struct bins_level levels[BINS_LEVELS]; // the finest first
	unsigned nlevels;
	int error;
};

// `finest` bins for span_ns; nlevels of BINS_LEVELS at most.
void bins_init(struct bins *b, uint64_t span_ns, unsigned finest, unsigned nlevels);
// From, to: ns from the beginning. What lies before a bin that was left already is not counted. id 0:
// nobody's.
void bins_add(struct bins *b, unsigned kind, uint64_t id, uint64_t from, uint64_t to);
void bins_transition(struct bins *b, uint64_t at);
// No more comes.
void bins_end(struct bins *b);
void bins_deinit(struct bins *b);
