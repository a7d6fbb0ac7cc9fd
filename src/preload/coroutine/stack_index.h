// SPDX-License-Identifier: MIT
//
// stack_index.h - from an address to its entity: as part of its stack, or as the place where
// it saved itself. Lock-free; an answer is a hint that was checked against the entity's own
// fields.
#pragma once

#include "preload/guest/guest.h"

enum { STACK_INDEX_BLOCK_BITS = 21, STACK_INDEX_BLOCKS = 1 << 17 };
struct leaf;
struct stack_index_block {
	uint64_t number; // address >> STACK_INDEX_BLOCK_BITS, + 1; 0 = free
	struct leaf *leaf;
};
extern struct stack_index_block *stack_index_blocks; // by a hash of the number, or behind that

static inline uint64_t stack_index_number(uint64_t addr)
{
	return (addr >> STACK_INDEX_BLOCK_BITS) + 1;
}
static inline uint32_t stack_index_place(uint64_t number)
{
	return (uint32_t)(number * 0x9E3779B97F4A7C15ULL >> 47);
}

int stack_index_init(void); // 0, or -1 if there is no memory

// The entity whose stack holds `addr` and that has not lost it; NULL if none.
struct ctp_state *stack_index_stack(uint64_t addr);
// The same, but discovers none that a forked child has from its parent (inherit.h): for places where a hook
// may be under way.
struct ctp_state *stack_index_known(uint64_t addr);
// The entity that saved itself last at `addr` (ctp_state.slot); NULL if none.
struct ctp_state *stack_index_slot(uint64_t addr);

// Enters s's stack [lo, hi). Calls `taken`, if any, for each entity that had part of it.
void stack_index_add_stack(struct ctp_state *s, void (*taken)(struct ctp_state *old, void *arg), void *arg);
// Enters where s's stack begins, for stack_index_range, where how far down it goes is not known.
void stack_index_add_begin(struct ctp_state *s);
// Enters s->slot; an entity that had saved itself there loses its slot.
void stack_index_add_slot(struct ctp_state *s);

// Was nothing ever entered for the pages of [lo, hi)?
bool stack_index_clear(uint64_t lo, uint64_t hi);
// True only if that is so, by one look: nothing of its block was ever entered.
static inline bool stack_index_far(uint64_t lo, uint64_t hi)
{
	uint64_t number = stack_index_number(lo);
	return number == stack_index_number(hi - 1) &&
	       !ctp_load64(&stack_index_blocks[stack_index_place(number)].number);
}

// Calls `each` for every entity whose stack, or, with `slots`, whose save slot
// lies in [lo, hi), possibly more than once.
void stack_index_range(uint64_t lo, uint64_t hi, bool slots, void (*each)(struct ctp_state *s, void *arg),
		       void *arg);
