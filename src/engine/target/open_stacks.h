// SPDX-License-Identifier: MIT
//
// open_stacks.h - stacks of which libctp.so knows where they begin, and not how far down they go (lo = hi):
// the allocator's records tell it of those that lie in a block of malloc's of their own.
#pragma once

#include <sys/types.h>

#include "ctp/region.h"

struct open_stack {
	uint64_t id, hi, lo;
	bool mapped; // the block has a mapping of its own, which nothing else has used before
};

// Zeroed: none.
struct open_stacks {
	struct open_stack *v; // by id
	size_t n;
};

// Those of the coroutines that live now, as far as that can be told by deadline_ns (CLOCK_MONOTONIC).
void open_stacks_find(struct open_stacks *o, const struct ctp_region *r, pid_t pid, uint64_t deadline_ns);
void open_stacks_deinit(struct open_stacks *o);

// What was found of the stack of s; NULL: nothing, or its lower end is known anyway.
const struct open_stack *open_stacks_of(const struct open_stacks *o, const struct ctp_state *s);
