// SPDX-License-Identifier: MIT
//
// set_circles.h - circles of coroutines that wait for each other's locks (memory/cycle_hubs.h).
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"

// Is there one, as memory has it now? The program runs on meanwhile.
bool set_circles_any(const struct ctp_region *r, pid_t pid, uint64_t deadline_ns);
// A line for each. A coroutine counts if it is suspended without a known wait, and no armed registration
// leads to it.
void set_circles(FILE *out, const struct inspection *l);
