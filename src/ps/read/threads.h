// SPDX-License-Identifier: MIT
//
// threads.h - where a program's threads are, without stopping them.
#pragma once

#include "ps/read/stacks.h"
#include "ps/read/tables.h"

struct threads_one {
	pid_t tid;         // as seen from here; 0: not found
	char state;        // as ps(1) says: R, S, D, T; 0: not known
	char call[64];     // "epoll_wait on fd 4", "on a CPU"; "" = not known
	char wchan[48];    // where the kernel has it; "" = not known
	uint64_t waits_ns; // how long it has been in a loop's wait; 0
	uint32_t stack;    // of the stacks: where it was called from; 0 = not known
};

struct threads {
	struct threads_one *v; // one for each of the tables'
	size_t n;
};

int threads_look(struct threads *t, const struct found *f, const struct tables *tables,
		 struct stacks *s); // 0 or -errno
void threads_deinit(struct threads *t);
