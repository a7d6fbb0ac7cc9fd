// SPDX-License-Identifier: MIT
//
// trampoline.h - compares stacks of coroutines that began in the same function: which frame
// runs all of them, and which frames only switch?
#pragma once

#include "symbols/frames.h"

// The program's own frames, outermost first.
struct trampoline_stack {
	const struct symbols_frame **v; // free it
	size_t n;
	bool known; // which function each is in
};

int trampoline_read(struct trampoline_stack *out, const struct frames *f); // 0 or -ENOMEM
bool trampoline_same(const struct symbols_frame *a,
		     const struct symbols_frame *b); // one function; both are known
// How many of its outermost functions it has in common with all of the others.
size_t trampoline_alike(const struct trampoline_stack *s, const struct trampoline_stack *others, size_t n);
// From one place in frame `at` the others go to different functions: it is what runs them.
bool trampoline_runs(const struct trampoline_stack *others, size_t n, size_t at);
// Are its frames from `p` on those with which others switch, from deeper?
bool trampoline_switches(const struct trampoline_stack *s, size_t p, const struct trampoline_stack *others,
			 size_t n);
