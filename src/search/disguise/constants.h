// SPDX-License-Identifier: MIT
//
// constants.h - numbers that nobody has counted: they are in a file that is mapped. Behind the static storage
// of a library lies, up to the end of the page, whatever follows in its file: the table of its sections,
// whose offsets and sizes look like distances.
#pragma once

#include "search/memory/memory.h"

struct constants {
	const struct memory *memory;
	const struct maps_line *map; // whose file was opened last; NULL: none
	int file;                    // -1: it cannot be read
};

// The number of 32 bits at `addr`: is it in a private mapping of a file, and either cannot be written there
// or is, in a program or library, as the file has it?
bool constants_has(struct constants *c, uint64_t addr);
// The same, in whatever mapping, but only if it is as in the file of a program or library: no handle of the
// program's, which it can only have got since it began.
bool constants_built(struct constants *c, uint64_t addr);
void constants_deinit(struct constants *c);
