// SPDX-License-Identifier: MIT
//
// recoded.h - words that are the address of where an object begins with its bits in another order, or
// recoded (images.h). For those that are apart from all others, in a register or in the kernel.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/mark/graph.h"

struct recoded_word {
	uint64_t word, address;
};

struct recoded {
	struct recoded_word *v; // sorted by word; NULL: none was asked for
	size_t n;
};

// The address; 0: the word is none.
uint64_t recoded_find(struct recoded *r, const struct graph *g, uint64_t word);
void recoded_deinit(struct recoded *r);
