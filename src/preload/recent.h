// SPDX-License-Identifier: MIT
//
// recent.h - who saved himself at an address: the first look of every switch. A
// hint: whoever asks tests ctp_state.slot. (What is right is asked of pagemap.h.)
#pragma once

#include "area.h"
#include "guest.h"

// Entries, and what masks an offset in bytes; in this order, as the one only grows with
// the other. Trampolines know both. An entry is never NULL.
extern struct ctp_state **recent_table;
extern uint64_t recent_mask;

int recent_init(void); // 0, or -1 if there is no memory

// An address has two places, next to each other; what was found last stands in the first, or a thread's own stack.
static inline struct ctp_state **recent_place(uint64_t slot)
{
	uint32_t at = (uint32_t)(slot * RECENT_FACTOR >> RECENT_SHIFT) & (uint32_t)ctp_load64(&recent_mask);
	return (struct ctp_state **)((char *)ctp_load_ptr(&recent_table) + at);
}

static inline struct ctp_state *recent_find(uint64_t slot)
{
	struct ctp_state **first = recent_place(slot), *s = ctp_load_ptr(first);
	if (CTP_LIKELY(s->slot == slot))
		return s;
	return ctp_load_ptr((struct ctp_state **)((uint64_t)first ^ sizeof(s)));
}

// `s` was found by `slot`, with another's help; NULL: nobody was.
void recent_note(struct guest *g, uint64_t slot, struct ctp_state *s);
