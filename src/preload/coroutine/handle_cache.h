// SPDX-License-Identifier: MIT
//
// handle_cache.h - which coroutine saved itself at an address: the first look-up of every
// switch. The answer is a hint: the caller tests ctp_state.slot. (stack_index.h gives exact
// answers.)
#pragma once

#include "preload/coroutine/thread_ctx.h"
#include "preload/guest/guest.h"

// Entries, and what masks an offset in bytes; in this order, as the one only grows with
// the other. Trampolines know both. An entry is never NULL.
extern struct ctp_state **handle_cache_table;
extern uint64_t handle_cache_mask;

int handle_cache_init(void); // 0, or -1 if there is no memory

// An address has two places, next to each other; what was found last stands in the first, or a thread's own
// stack.
static inline struct ctp_state **handle_cache_place(uint64_t slot)
{
	uint32_t at = (uint32_t)(slot * HANDLE_CACHE_FACTOR >> HANDLE_CACHE_SHIFT) &
		      (uint32_t)ctp_load64(&handle_cache_mask);
	return (struct ctp_state **)((char *)ctp_load_ptr(&handle_cache_table) + at);
}

static inline struct ctp_state *handle_cache_find(uint64_t slot)
{
	struct ctp_state **first = handle_cache_place(slot), *s = ctp_load_ptr(first);
	if (CTP_LIKELY(s->slot == slot))
		return s;
	return ctp_load_ptr((struct ctp_state **)((uint64_t)first ^ sizeof(s)));
}

// `s` was found by `slot`, with another's help; NULL: nobody was.
void handle_cache_note(struct thread_ctx *g, uint64_t slot, struct ctp_state *s);
