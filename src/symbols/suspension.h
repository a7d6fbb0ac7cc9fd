// SPDX-License-Identifier: MIT
//
// suspension.h - the line at which a C++20 coroutine is suspended, from addresses of its code.
#pragma once

#include "symbols/symbols.h"

enum { SUSPENSION_BEHIND = 32, SUSPENSION_BEFORE = 8 };

struct suspension_step { // an instruction
	uint64_t at;
	uint64_t calls; // what it calls directly; 0: nothing
};

// Of one state of one coroutine function. Addresses that are not known are 0.
struct suspension {
	bool gcc;                              // who made it: GCC, else Clang
	bool initial;                          // it was never started,
	bool may_be_initial;                   // or so it is if the line is the function's own
	bool merged;                           // the instruction at `store` may store something else, too
	uint64_t resume, asks, landing, store; // the function; where it asks for its state; where it goes on;
					       // where the state is stored
	struct suspension_step behind[SUSPENSION_BEHIND]; // the store, and what follows it without a jump
	struct suspension_step
		before[SUSPENSION_BEFORE]; // the last before the branch that decides to suspend
	unsigned nbehind, nbefore;
};

struct suspension_place {
	const struct symbols_frame *own;   // the function; NULL: not known
	const struct symbols_frame *frame; // with the line, NULL: none is known
	bool exact;                        // it is that of the co_await; else it may be that of what follows
	bool initial;                      // it was never started
};

// 0 or -ENOMEM.
int suspension_find(struct suspension_place *out, struct symbols *s, const struct suspension *c);
