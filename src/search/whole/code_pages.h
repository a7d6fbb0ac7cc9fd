// SPDX-License-Identifier: MIT
//
// code_pages.h - finds addresses in code that was made at run time, as the operands of instructions: the two
// halves of one near each other, a distance from the instruction's end, a number that is xored with or added
// to another (a compiler may hide the numbers of untrusted code so), or complemented.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

enum { CODE_PAGES_MAP = 1 << 10 };

struct code_pages {
	const struct memory *memory;
	const uint64_t *begins; // of objects; sorted
	size_t nbegins;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
	// what follows is code_pages.c's
	uint64_t low[CODE_PAGES_MAP]; // bit map of some of their lower bits
	struct {
		uint64_t lo, hi;
		bool made;
	} map; // that was looked at last
};

void code_pages_ready(struct code_pages *c);
// MEMORY_WALK_BEHIND more bytes may be read behind these, which lie at `at`.
void code_pages_find(struct code_pages *c, const unsigned char *bytes, size_t n, uint64_t at);
