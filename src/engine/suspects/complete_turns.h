// SPDX-License-Identifier: MIT
//
// complete_turns.h - loops that never sleep (a timeout of 0, again and again). Such a thread has had its
// chance to resume whom it knows of when it has made three complete turns since: so often it entered a wait,
// and came to enter the next one. Turns are counted by the thread itself (ctp_thread.polls, sets), and looked
// at now and then.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctp/region.h"

struct complete_turns {
	struct complete_turns_mark {
		uint32_t uses;    // of the slot, when it was marked; + 1, 0: not marked
		uint64_t entered; // waits, as of the mark
		uint64_t epoch;   // of the region, read before `entered`
		uint64_t ns;      // time of the mark
		uint64_t passed;  // the last epoch since which it has made three complete turns; 0: none
	} * v;                    // by slot
	uint32_t n;
};

// Looks at every live thread.
void complete_turns_note(struct complete_turns *c, const struct ctp_region *r, uint64_t now_ns);
void complete_turns_deinit(struct complete_turns *c);
// Has the thread of this slot made three since the epoch was raised to that? `uses`: the slot's, of that
// thread.
bool complete_turns_made(const struct complete_turns *c, uint32_t slot, uint32_t uses, uint64_t epoch);
