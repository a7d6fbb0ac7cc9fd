// SPDX-License-Identifier: MIT
//
// registers.h - what a thread that nobody stops keeps in registers that a called function preserves.
#pragma once

#include "find/contexts.h"

// Why some thread may keep a pointer in a register that is not known; NULL: none does.
const char *registers_unknown(const struct contexts *c);

// Stops threads of a live process, for their registers. 0 or -errno.
enum registers_which {
	REGISTERS_GLANCE, // those that cannot tell (they run, or sleep in a call that the kernel goes on
			  // with): for an instant
	REGISTERS_QUIET,  // the same, until registers_release
	REGISTERS_ALL,    // all, until then
};
struct registers_hold {
	struct registers_held {
		int tid;
		bool waits; // in epoll_wait, without a timeout
	} * v;
	size_t n;
};
int registers_take(struct image *im, enum registers_which which, struct registers_hold *held);
void registers_release(struct registers_hold *held);
