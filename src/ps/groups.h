// SPDX-License-Identifier: MIT
//
// groups.h - coroutines, put together where they are the same to a reader.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ctp/ctp.h"

struct coroutine {
	uint64_t id, changes, entry;
	uint64_t since_ns; // how long it has been as it is now
	uint32_t station;
	uint32_t stack;         // of the stacks (ps/stacks.h); 0 = none
	uint32_t creator_stack; // as recorded
	uint32_t thread;        // slot where it runs or last ran
	uint8_t life;           // enum ctp_life
	uint16_t flags;         // CTP_STATE_*
	uint8_t nwaits;
	bool settled; // false: it was being written all the while
	struct coroutine_wait {
		int32_t fd;
		uint32_t gen, events, how;
	} waits[CTP_WAITS];
};

struct group { // a run of the coroutines, longest wait first
	const struct coroutine *first;
	size_t n;
	uint32_t stack;   // to be shown for all of them
	bool one_creator; // all were created at the same place
};

struct groups {
	struct group *v;
	size_t n;
};

// Sorts the coroutines and makes groups of those that are suspended with the
// same stack (or created at the same place), first the suspended, then the
// created, then the running, in each the longest first. `apart`: one group each. 0 or -ENOMEM.
int groups_make(struct groups *g, struct coroutine *all, size_t n, bool apart);
void groups_deinit(struct groups *g);
