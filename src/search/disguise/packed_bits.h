// SPDX-License-Identifier: MIT
//
// packed_bits.h - finds addresses in bit fields: from the fourth bit on, since an object lies at a multiple
// of 16, at any bit of a word, with anything around them.
//
// All 43 bits must be there, so that chance does not count.
#pragma once

#include <stddef.h>
#include <stdint.h>

enum { PACKED_BITS_MAP = 1 << 12 };

struct packed_bits {
	const uint64_t *begins; // of objects; sorted
	size_t nbegins;
	void (*hit)(void *ctx, uint64_t at, uint64_t address);
	void *ctx;
	uint64_t middle[PACKED_BITS_MAP]; // bit map of 18 bits of them
};

void packed_bits_ready(struct packed_bits *p);
// Aligned words. MEMORY_WALK_BEHIND more bytes may be read behind these, which lie at `at`.
void packed_bits_find(const struct packed_bits *p, const unsigned char *bytes, size_t n, uint64_t at);
