// SPDX-License-Identifier: MIT
//
// code_words.h - numbers of 64 bits by which a program may encode its handles: those of its instructions, its
// static storage and its constant data.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

enum { CODE_WORDS_MOST = 256 };

struct code_words {
	uint64_t v[CODE_WORDS_MOST]; // no two are the same
	size_t n;
};

// Those of the program come before those of its libraries; the C library's and its like are left out. `skip`:
// sorted, disjoint: what is not read.
void code_words_find(struct code_words *c, const struct memory *m, const struct span *skip, size_t nskip);
// May this number encode something? Addresses, small numbers and text do not.
bool code_words_may(uint64_t word);
