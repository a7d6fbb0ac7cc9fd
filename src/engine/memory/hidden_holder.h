// SPDX-License-Identifier: MIT
//
// hidden_holder.h - a block of the heap that leads to a coroutine, and to which nothing leads.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/search.h"

struct hidden_holder {
	uint64_t block; // where it begins; 0: there is none
	uint64_t word;  // in a block that it leads to, or in itself: leads to the coroutine
};

// By suspect, of those that nothing reaches; the caller frees it. NULL: out of memory.
struct hidden_holder *hidden_holders(const struct inspection *l, struct search *s);
