// SPDX-License-Identifier: MIT
//
// self_words.h - finds words of 64 bits that are the distance from themselves to an address, as
// boost::interprocess::offset_ptr keeps it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

enum { SELF_WORDS_CELLS = 4, SELF_WORDS_SIEVE = 1 << 10 };

struct self_words {
	const struct span *targets; // sorted, disjoint: where the addresses of words that are large may lie
	size_t ntargets;
	const struct span *near; // the same of those that are not; what lies elsewhere is too likely a number
	size_t nnear;
	void (*hit)(void *ctx, uint64_t at, uint64_t word);
	void *ctx;
	// what follows is self_words.c's
	unsigned shift;                   // both lie in a few cells of so many bits
	uint32_t cells[SELF_WORDS_CELLS]; // addresses, shifted
	size_t ncells;                    // above SELF_WORDS_CELLS: there are too many
	uint64_t sieve[SELF_WORDS_SIEVE]; // of `near`
};

// Is the word one that other numbers are as well: less than 64 GiB, in either direction?
bool self_words_is_near(uint64_t word);

void self_words_ready(struct self_words *s);
// Bytes that lie at `at`. Aligned words are looked at.
void self_words_find(const struct self_words *s, const unsigned char *bytes, size_t n, uint64_t at);
