// SPDX-License-Identifier: MIT
//
// stack_index.h - from an address to its entity: as part of its stack, or as the place where
// it saved itself. Lock-free; an answer is a hint that was checked against the entity's own
// fields.
#pragma once

#include "preload/guest/guest.h"

int stack_index_init(void); // 0, or -1 if there is no memory

// The entity whose stack holds `addr` and that has not lost it; NULL if none.
struct ctp_state *stack_index_stack(uint64_t addr);
// The same, but none is met (inherit.h): for where a hook may be under way.
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

// Calls `each` for every entity whose stack, or, with `slots`, whose save slot
// lies in [lo, hi), possibly more than once.
void stack_index_range(uint64_t lo, uint64_t hi, bool slots, void (*each)(struct ctp_state *s, void *arg),
		       void *arg);
