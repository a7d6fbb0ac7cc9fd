// SPDX-License-Identifier: MIT
//
// packed_bits.h - finds addresses in bit fields: from the fourth bit on, since an object lies at a multiple
// of 16, at any bit of a word, with anything around them; and numbers of pages, at which stacks begin and
// end.
//
// All 43 bits must be there, or all 35, so that chance does not count.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/memory/span.h"

enum { PACKED_BITS_MAP = 1 << 12, PACKED_BITS_PAGES = 1 << 9 };

struct packed_bits {
	const struct span
		*targets; // sorted: of those that begin or end with a page, its number is looked for, too
	size_t ntargets;
	const uint64_t *begins; // of objects; sorted
	size_t nbegins;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
	uint64_t middle[PACKED_BITS_MAP]; // bit map of 18 bits of them, and of pages
	uint64_t pages[PACKED_BITS_PAGES];
	size_t npages;
};

void packed_bits_ready(struct packed_bits *p);
// Aligned words. MEMORY_WALK_BEHIND more bytes may be read behind these, which lie at `at`.
void packed_bits_find(const struct packed_bits *p, const unsigned char *bytes, size_t n, uint64_t at);
