// SPDX-License-Identifier: MIT
//
// disguise_words.h - finds words of 64 bits that are an address in disguise, all bits of it.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/disguise.h"
#include "search/span.h"

struct disguise_words {
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	const uint64_t *begins; // of objects in them; sorted
	size_t nbegins;
	struct span near; // also told, as they are, as DISGUISE_OUTSIDE: words with a value in here
	void (*hit)(void *ctx, uint64_t at, uint64_t address, enum disguise form);
	void *ctx;
	// what follows is disguise_words.c's
	uint64_t upper[1024];   // bit map of what bits 32 to 47 of such a word may be,
	uint64_t swapped[1024]; // and of bits 16 to 31 where the bytes are swapped
	uint64_t any[1024];     // as `upper`, or what they are in `near`
};

void disguise_words_ready(struct disguise_words *d);
// Bytes that lie at `at`. Aligned words are looked at, and those at a multiple of four that are swapped;
// eight more bytes may be read behind them.
void disguise_words_find(const struct disguise_words *d, const unsigned char *bytes, size_t n, uint64_t at);
// One word, which lies wherever `at` says.
void disguise_words_try(const struct disguise_words *d, uint64_t word, uint64_t at);
