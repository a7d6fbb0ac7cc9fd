// SPDX-License-Identifier: MIT
//
// known.h - of a process to which ctp-run has attached: what the tables have of it, so that a search adds
// what they lack.
#pragma once

#include <stdbool.h>

#include "ps/read/find.h"
#include "search/memory/span.h"

struct known {
	struct span *stacks; // of coroutines that are in the tables, alive or not; sorted, disjoint
	size_t nstacks;
	int *tids; // of threads that have switched; sorted
	size_t ntids;
	struct span
		ours[3]; // libctp's own memory: no coroutine of the program's lies there; sorted, disjoint
	size_t nours;
};

// 0 or -errno.
int known_read(struct known *k, const struct found *f);
void known_deinit(struct known *k);
// Is a coroutine with this stack pointer, or one that this thread runs (0: none), in the tables?
bool known_has(const struct known *k, uint64_t sp, int tid);
