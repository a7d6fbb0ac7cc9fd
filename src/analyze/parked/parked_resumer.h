// SPDX-License-Identifier: MIT
//
// parked_resumer.h - one coroutine that resumed those who waited at a place, each time by its turn: one that
// answers queries, commits what they have written, or tells them of what is new.
#pragma once

#include "analyze/parked/parked_history.h"

struct parked_resumer {
	// Asked for.
	uint64_t waits; // a coroutine that is parked
	unsigned place; // where: a row of the history
	// Answered.
	uint64_t by;              // who resumed those who waited there; 0: no one alone
	uint32_t stack;           // where that one is suspended now; 0: not known
	uint64_t resumed, handed; // how many waits have ended there; right after a turn of its
	uint64_t longest;         // of those waits, in ns
	uint64_t least, most;     // of its turns, while one of those waited
	uint64_t turns;           // while this one does
	bool early;               // it began before any connection was accepted
};

// Of all who waited there. That one is suspended now, as it was after its turns. 0 or -errno.
int parked_resumer_find(const struct world *w, const struct parked_history *l, struct parked_resumer *v,
			size_t n);
// Should it have resumed this one by now?
bool parked_resumer_is_late(const struct parked_resumer *r);
// Of what each has waited there itself. Turns are not counted. 0 or -errno.
int parked_resumer_own(const struct world *w, const struct parked_history *l, struct parked_resumer *v,
		       size_t n);
