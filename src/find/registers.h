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
		int signal;      // on its way to it when it stopped
		bool came_since; // to where it sleeps, since it was looked at
	} * v;
	size_t n;
};
int registers_take(struct image *im, enum registers_which which, struct registers_hold *held);
void registers_release(struct registers_hold *held);
// Of a thread that was stopped by no signal, and is to be let go: the kernel has ended the wait in which it
// was stopped. If that has no timeout, or has just begun, and no signal waits, it is begun anew: to the
// thread it is as if it had not been interrupted. A thread may have come there since it was looked at.
void registers_begin_anew(int tid, bool just_begun);
