// SPDX-License-Identifier: MIT
//
// chain.h - is a walked stack one on which the calls really happened? Each frame's function must be
// what the call before the next return address calls.
#pragma once

#include "find/sites.h"

enum chain_end {
	CHAIN_BROKEN, // a call that leads elsewhere: the stack is a stale one
	CHAIN_OPEN,   // sound as far as it goes; where it begins says nothing
	CHAIN_WEAK, // it begins at a function's first byte: somebody put that there, or it is a stale pointer
	CHAIN_MADE, // it begins in code that no call leads back to: a signal's end, or assembly code
	CHAIN_START,  // it begins where makecontext lets a coroutine begin
	CHAIN_ENDED,  // its function has returned there
	CHAIN_NATIVE, // it begins where a thread does: no coroutine
};

struct chain {
	const struct objects *objects;
	const struct sites *sites;
	struct idmap links; // pairs of program counters that were checked
	struct idmap jumpers;
};

// Return addresses, innermost first; *n becomes how many of them belong to the stack.
enum chain_end chain_check(struct chain *c, const uint64_t *pcs, size_t *n);
// May a call of this function return from another one, to which it jumped by a pointer?
bool chain_jumps_on(struct chain *c, uint64_t function);
void chain_deinit(struct chain *c);
