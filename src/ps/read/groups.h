// SPDX-License-Identifier: MIT
//
// groups.h - coroutines, grouped where a reader sees no difference.
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "ctp/ctp.h"

// What a suspended coroutine does.
enum status {
	STATUS_WAITS,  // or is parked: nothing says that it will go on
	STATUS_READY,  // an event of what it waits for was taken, and its turn has not come
	STATUS_POOLED, // its function has ended, and its library keeps it for another
};

// What ctp-run has found out about a suspended coroutine so far; ctp-analyze decides.
enum so_far { SO_FAR_OPEN, SO_FAR_LIKELY, SO_FAR_PROVEN };

struct coroutine {
	uint64_t id, changes, entry, creator;
	uint64_t since_ns; // how long it has been as it is now
	uint64_t since;    // ticks
	uint64_t created;  // ticks
	uint64_t lo, hi;   // its stack, as declared
	uint32_t station;
	uint32_t stack;         // of the stacks (ps/read/stacks.h); 0 = none
	uint32_t recorded;      // the same, by its id in the region
	uint32_t creator_stack; // as recorded
	uint32_t thread;        // slot where it runs or last ran
	uint32_t maker;         // slot of the thread that made it
	uint8_t life;           // enum ctp_life
	uint8_t status;         // enum status
	uint8_t so_far;         // enum so_far
	uint16_t flags;         // CTP_STATE_*
	uint8_t nwaits;
	char *name;     // as the program calls it, fit for a terminal; NULL: it does not say
	char rule[8];   // with so_far: "CTP001"
	bool settled;   // false: it was being written all the while
	bool announced; // the program tells of it (CTP_SOURCE_PROGRAM)
	bool before;    // it was there when ctp-run attached (CTP_SOURCE_SEARCH), and has not run since
	bool walked;    // its stack has been looked at as it lies in memory
	struct coroutine_wait {
		int32_t fd;
		uint32_t gen, events, how; // CTP_WAIT_*
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
// same stack (or created at the same place): first those that wait, then the
// ready, the pooled, the created, the running, in each the longest first. `apart`: one group each. 0 or
// -ENOMEM.
int groups_rank(const struct coroutine *c); // in that order, from 0; those that have ended last
int groups_make(struct groups *g, struct coroutine *all, size_t n, bool apart);
void groups_deinit(struct groups *g);
