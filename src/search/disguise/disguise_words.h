// SPDX-License-Identifier: MIT
//
// disguise_words.h - finds words of 64 bits that are an address in disguise, all bits of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/disguise/disguise.h"
#include "search/memory/span.h"

// Words whose bytes are swapped are looked for in so many ranges of 4 GiB.
enum { DISGUISE_WORDS_SWAPPED = 16 };

struct disguise_words {
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	const uint64_t *begins; // of objects in them; sorted
	size_t nbegins;
	struct span near; // also told, as they are, as DISGUISE_OUTSIDE: words with a value in here
	const struct span
		*partners; // the same may be in a sum with; sums are told as they are, as DISGUISE_SUM
	size_t npartners;
	void (*hit)(void *ctx, uint64_t at, uint64_t address, enum disguise form);
	void *ctx;
	// what follows is disguise_words.c's
	uint64_t upper[1024];                     // bit map of what bits 32 to 47 of such a word may be,
	uint64_t any[1024];                       // the same, or what they are in `near`
	uint16_t swapped[DISGUISE_WORDS_SWAPPED]; // bits 32 to 47 of targets
	size_t nswapped;
};

void disguise_words_ready(struct disguise_words *d);
// Bytes that lie at `at`. Aligned words are looked at, and all places for those that are swapped;
// MEMORY_WALK_BEHIND more bytes may be read behind them.
void disguise_words_find(const struct disguise_words *d, const unsigned char *bytes, size_t n, uint64_t at);
