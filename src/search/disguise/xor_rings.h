// SPDX-License-Identifier: MIT
//
// xor_rings.h - finds rings whose nodes lie in objects, found or not, and have one link: what precedes them,
// combined by exclusive or with what follows. A node elsewhere, mostly the list's head, is part of it.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"

enum { XOR_RINGS_OBJECTS = 256, XOR_RINGS_BYTES = 1024 }; // of so many; the first bytes of each

struct xor_rings {
	const struct memory *memory;
	const struct span *objects; // sorted
	size_t nobjects;
	void (*hit)(void *ctx, uint64_t at, uint64_t address); // at: the node elsewhere
	void *ctx;
};

// False if out of memory.
bool xor_rings_find(const struct xor_rings *r);
