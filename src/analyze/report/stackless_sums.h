// SPDX-License-Identifier: MIT
//
// stackless_sums.h - the C++20 coroutines of all images, counted.
#pragma once

#include "analyze/report/finding.h"

struct stackless_sums {
	bool looked;    // else nobody looked, or there were none
	uint64_t looks; // of so many images
	uint64_t total, suspended, initial, last, running, may_have_ended; // last: at its end, and kept
	uint64_t found, undecided; // in findings; it could not be told what leads to them
	const char *why;           // that is so
	uint64_t destroyed;        // while they were suspended, of those whose birth was seen
	uint64_t unseen;           // functions of such coroutines in images at which no look could be made
	uint64_t before_end_ns;    // of what was not looked at when its process ended, the oldest; 0: none
	uint64_t waits_before_ns;  // the same of a later look, which told at least who waits
};

struct stackless_sums stackless_sums(const struct report *r);
// Which of the findings of CTP029 are of coroutines that were never started, as their lines tell: these are
// moved to CTP014. Before findings are grouped.
void stackless_settle(struct report *r);
// What was found of a frame becomes a case of the coroutine that the program tells of with it, if it does.
// After stackless_settle, before findings are grouped. 0 or -ENOMEM.
int stackless_join(struct report *r);
