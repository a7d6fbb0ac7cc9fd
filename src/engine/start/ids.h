// SPDX-License-Identifier: MIT
//
// ids.h - blocks of coroutine ids. Ids are unique in a trace: the first process begins at 1,
// each other one gets a block of its own, and continues where the last process that had the
// block ended.
#pragma once

#include <stddef.h>
#include <stdint.h>

#define IDS_FIRST 1000000000ULL // block 0 begins after it: coroutine 1000000041 is the 41st there
#define IDS_BLOCK 100000000ULL
#define IDS_BLOCKS 5400 // all below the ids of version-1 stations

struct ids {
	struct ids_block {
		uint64_t used;
		int taken;
	} * blocks;
	size_t n, room;
};

// A block, and in *used the ids that were given out before. -1: none is left.
int ids_take(struct ids *ids, uint64_t *used);
void ids_give(struct ids *ids, int block, uint64_t used);
void ids_deinit(struct ids *ids);
