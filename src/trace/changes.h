// SPDX-License-Identifier: MIT
//
// changes.h - entities that only state changes describe: those of JSON lines and of
// version-1 stations. Only the last change of each is kept, so memory grows with
// entities, not with changes.
#pragma once

#include <stdbool.h>

#include "base/idmap.h"

struct change {
	uint64_t id;
	uint64_t n;  // of the last change: 1, 2, ...
	uint64_t ns; // of the last change
	bool active;
	bool native;   // a thread's own stack
	bool finished; // its last change was the last for good
};

struct changes {
	struct change *items;
	size_t n, capacity;
	struct idmap by_id;
	uint64_t missing; // gaps in n
};

// Takes a change (its id, n, ns and the flags). 0 or -ENOMEM.
int changes_add(struct changes *c, const struct change *change);

// How many coroutines are in which state; natives are not counted.
struct changes_count {
	uint64_t suspended, running, finished;
};
struct changes_count changes_count(const struct changes *c);
void changes_deinit(struct changes *c);
