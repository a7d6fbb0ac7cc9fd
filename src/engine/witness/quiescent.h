// SPDX-License-Identifier: MIT
//
// quiescent.h - P6b: whether the whole process is quiescent.
#pragma once

#include "engine/inspect/inspect.h"

void quiescent_judge(struct inspection *l);
// After memory: that nothing can wake the program proves nothing about a coroutine whose descriptor has
// ended, while its memory could tell that it was cancelled into a pool, and was not searched to the end.
void quiescent_doubt(struct inspection *l);
// Mask of the signals for which the program has a handler, those of faults too: anyone can send them. Not
// counted: libctp's own (ctp_ext.crash_ours) and glibc's. All bits if that cannot be seen.
uint64_t quiescent_handled(pid_t pid, const struct ctp_ext *e);

// What the program itself has set, and that will wake it.
struct own_timer {
	const char *what;    // NULL: nothing
	bool far;            // but not soon
	uint64_t longest_ns; // so long threads sleep, or timerfds take, at most; 0: not known
};
// What is put off now may be done then.
struct own_timer quiescent_own_timer(const struct inspection *l);
