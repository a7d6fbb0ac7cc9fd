// SPDX-License-Identifier: MIT
//
// order.h - checks that records are possible: within one stream no entity is resumed with
// a number that it had before.
#pragma once

#include "base/idmap.h"
#include "ctp/record.h"

#define ORDER_BLOCK 16u // ids are dense: a few looked up at once, beside each other

struct order_block {
	struct order_entity {
		uint64_t time; // of its last change here
		uint32_t n;    // and the low bits of its number
		bool discovered;
	} of[ORDER_BLOCK];
};

struct order {
	struct order_block *blocks;
	size_t n, capacity;
	struct idmap by_id; // id / ORDER_BLOCK -> row of blocks
	uint64_t wrong;     // records that contradict an earlier one
};

// An entity is entered with this number (low bits). 0 or -ENOMEM.
int order_entered(struct order *o, uint64_t id, uint32_t n, uint64_t time);
void order_deinit(struct order *o);
