// SPDX-License-Identifier: MIT
//
// marker.h - lost.h's marks: objects, what leads to them, and what they lead to.
#pragma once

#include "find/lost.h"

enum { MARKER_HEADER = 16, MARKER_DISGUISE = 17 }; // of a block of malloc; bits by which glibc turns pointers

struct marker_block { // of malloc, in use or not
	uint64_t at, size;
	bool idle, reached;
};

struct marker_stack {
	uint64_t lo, live, hi; // live: the lowest word that is still in use
	uint32_t context;
};

struct marker_region { // of the heap, as it was read
	uint64_t lo, hi;
	unsigned char *bytes;
};

struct marker {
	const struct contexts *c;
	struct lost *out;
	struct marker_block *blocks; // by address
	size_t nblocks, blocks_capacity, begun;
	struct marker_stack *stacks; // by lo
	size_t nstacks;
	struct marker_region *regions;
	size_t nregions, regions_capacity;
	struct span_list skip, targets;
	uint32_t *todo; // contexts that were reached, and are not looked at yet
	size_t ntodo, todo_capacity;
	uint64_t *blocks_todo;
	size_t nblocks_todo, blocks_todo_capacity;
	uint64_t least, most;
	bool failed;
};

// The first reason why "not reached" means nothing.
void marker_undecided(struct marker *m, const char *why);

// The block whose memory, up to the word in the next one's header, holds `addr`.
struct marker_block *marker_block_of(const struct marker *m, uint64_t addr);
const struct marker_stack *marker_stack_of(const struct marker *m, uint64_t addr);

void marker_reach(struct marker *m, uint32_t context);
// A word holds this address; `head`: one where the allocator's lists may begin.
void marker_lead_from(struct marker *m, uint64_t addr, bool head);
void marker_lead(struct marker *m, uint64_t addr);
// Looks at all that was reached, until it leads to nothing new.
void marker_spread(struct marker *m);
