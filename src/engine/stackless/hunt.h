// SPDX-License-Identifier: MIT
//
// hunt.h - when a program may be looked at: it sleeps, and has slept for a while, or has just gone to sleep.
//
// One that is never idle for 30 ms may still sleep between two ticks; and where a tick has cut a look short,
// any moment will not do. Such a program is checked at each turn of the engine for a while; when it has run
// and sleeps again, most of a pause is left.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct hunt {
	unsigned missed;           // checks, 30 ms apart, before each of which a thread had run
	uint64_t end_ns, again_ns; // end: of the one that is on, 0: none
	bool ran;
	uint64_t used_ns; // of a CPU
};

// A check, which has cost `used_ns`: has no thread run since the last one? `cut`: a look was cut short.
bool hunt_rests(struct hunt *h, bool still, bool cut, uint64_t used_ns, uint64_t now_ns);
