// SPDX-License-Identifier: MIT
//
// dead_stack.h - what lies below a stack's pointer holds nothing that anybody can still use.
#pragma once

#include <stdbool.h>

#include "search/memory/memory.h"
#include "search/memory/span.h"

enum { RED_ZONE = 128 }; // what a function may use below its stack pointer (x86-64 psABI 3.2.2)

struct dead_stack {
	const struct memory *memory;
	uint64_t *words; // room for the live part of a stack
};

struct dead_stack_of {
	struct span stack;
	uint64_t sp;
	uint64_t red;   // bytes below sp that are live: RED_ZONE, or 0 where it stands in a call
	uint64_t floor; // nothing but a stack is in what lies above, though a page of it is wiped; 0: that is
			// not known
	struct span left; // a context on it that its owner has left behind: what it points to does not count
};

bool dead_stack_init(struct dead_stack *d, const struct memory *m);
void dead_stack_deinit(struct dead_stack *d);
// Adds what is dead below s->sp, but for the stack's lowest page: some keep there what is the stack's, and a
// stack that reaches it is about to overflow.
void dead_stack_add(const struct dead_stack *d, const struct dead_stack_of *s, struct span_list *out);
