// SPDX-License-Identifier: MIT
//
// products.h - finds words of 64 bits, and text, that are an address multiplied by an odd number of the
// program (code_words.h), to which another of its numbers may be added, or with which it may be xored.
//
// All 64 bits of a word must be right, so that chance does not count.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/search.h"

enum { PRODUCTS_FACTORS = 128, PRODUCTS_ADDENDS = 64, PRODUCTS_MAP = 1 << 10 };

struct products {
	const struct search *search;
	const struct span *targets; // sorted, disjoint: where the addresses may lie; above 4 GiB
	size_t ntargets;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
	// what follows is products.c's
	uint64_t inverses[2 * PRODUCTS_FACTORS];
	size_t ninverses;
	struct products_addends {
		uint64_t v[PRODUCTS_ADDENDS];
		size_t n;
	} addends[8];                  // by their lowest three bits
	uint64_t middle[PRODUCTS_MAP]; // bit map of bits 32 to 47 of targets
	uint64_t tries;
};

void products_ready(struct products *p);
// Bytes that lie at `at`. Aligned words are looked at, and text at any place.
void products_find(struct products *p, const unsigned char *bytes, size_t n, uint64_t at);
