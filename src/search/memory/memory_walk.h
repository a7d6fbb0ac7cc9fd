// SPDX-License-Identifier: MIT
//
// memory_walk.h - all memory of a process that can hold a word of its own, in pieces.
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "search/memory/memory.h"
#include "search/memory/span.h"

enum { MEMORY_WALK_BEHIND = 72 }; // bytes that may be read behind a piece

struct memory_walk {
	const struct memory *memory;
	const struct span *skip; // sorted, disjoint: not read
	size_t nskip;
	// Told of n bytes that lie at `at`. Behind them are the first 7 that follow there, then zeros. No
	// word of eight bytes is missed: the next piece begins as many bytes before the end of this one.
	void (*piece)(void *ctx, const unsigned char *bytes, size_t n, uint64_t at);
	void *ctx;
	// results
	uint64_t bytes; // read
	char why[160];  // if it failed
	// what follows is memory_walk.c's
	unsigned char *buffer;
	int sparse; // the file of the mapping that is being read, if it is memory alone; -1
};

// 0 when all that can hold a pointer was read; -EAGAIN (time) or -EIO (hole), with `why`; -ENOMEM.
int memory_walk(struct memory_walk *w);
