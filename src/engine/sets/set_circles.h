// SPDX-License-Identifier: MIT
//
// set_circles.h - circles of coroutines that wait for each other's locks (memory/cycle_hubs.h).
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"

// Is there one, as memory has it now? The program runs on meanwhile.
bool set_circles_any(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns);

// Which there are: a number for each, of who waits at what, and of how often they had run.
enum { SET_CIRCLES_SEEN = 16 };
struct set_circles_seen {
	uint64_t v[SET_CIRCLES_SEEN];
	size_t n;
};
void set_circles_see(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns,
		     struct set_circles_seen *out);
// A line for each. A coroutine counts if it is suspended without a known wait, and no armed registration
// leads to it.
void set_circles(FILE *out, const struct inspection *l);
