// SPDX-License-Identifier: MIT
//
// set_queues.h - coroutines that wait for queues inside the program.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"
#include "engine/sets/set_outside.h"

// Do so many coroutines wait for pipes, socketpairs or eventfds whose other ends are in the program?
bool set_queues_any(const struct ctp_region *r, unsigned many);
// A line for each of them, whether the kernel calls what it waits for ready, and one for each such
// descriptor in which something lies unread. The program sees nothing of it.
void set_queues(FILE *out, const struct inspection *l, struct set_outside_seen *outside);
