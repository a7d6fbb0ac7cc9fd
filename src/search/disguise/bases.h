// SPDX-License-Identifier: MIT
//
// bases.h - addresses from which a program may count: where a mapping begins, and what its static variables
// point to.
#pragma once

#include "search/memory/memory.h"

enum { BASES_MOST = 1024 };

struct bases {
	uint64_t v[BASES_MOST]; // sorted
	size_t n;
};

// Does it lie in static storage of the program or of its own libraries?
bool bases_is_static(const struct memory *m, uint64_t addr);
// Or of the C library?
bool bases_is_libc(const struct memory *m, uint64_t addr);
void bases_find(struct bases *b, const struct memory *m);
