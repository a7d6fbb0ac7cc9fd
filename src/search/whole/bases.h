// SPDX-License-Identifier: MIT
//
// bases.h - addresses from which a program may count: where it begins itself, where a mapping begins, and
// what its static variables point to.
#pragma once

#include "search/memory/memory.h"

enum { BASES_MOST = 1024 };

struct bases {
	uint64_t v[BASES_MOST]; // sorted
	size_t n;
};

// Does it lie in static storage of the program or of its own libraries?
bool bases_is_static(const struct memory *m, uint64_t addr);
// Or of a library that has no handles of the program's: the C library, what C++ needs, ctp's own?
bool bases_is_runtime(const struct memory *m, uint64_t addr);
// Up to where that is so of a mapping; its begin: nowhere.
uint64_t bases_runtime_end(const struct memory *m, const struct maps_line *at);
// Of the dynamic loader, which holds nothing of the program's?
bool bases_is_loader(const struct memory *m, uint64_t addr);
// Is it in the list of tagged values that the kernel gives a program at its start (getauxval(3))?
bool bases_is_auxv(const struct memory *m, uint64_t addr);
void bases_find(struct bases *b, const struct memory *m);
