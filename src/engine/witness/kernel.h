// SPDX-License-Identifier: MIT
//
// kernel.h - P0, P2 and P3: whether the kernel can still deliver an event to a suspect.
#pragma once

#include "engine/inspect/inspect.h"

// Answers P0 for all; P2 and P3 of those whose descriptor was closed (also CTP025). Sorts l->who by coroutine
// id.
void kernel_judge(struct inspection *l);
// Does a thread sit in a system call on F? Then P3 says so.
bool kernel_threads_hold(struct inspection *l, struct suspect *s);
// P3 of a row whose events are not those that C waits for.
void kernel_say_masked(struct suspect *s, int epfd, uint32_t events);
