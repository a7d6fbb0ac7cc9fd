// SPDX-License-Identifier: MIT
//
// kernel.h - P0, P2 and P3: whether the kernel can still deliver an event to a suspect.
#pragma once

#include "engine/inspect/inspect.h"

// Answers P0 for all; P2 and P3 of those whose descriptor was closed (also CTP025). Sorts l->who by coroutine
// id.
void kernel_judge(struct inspection *l);
// Not every registration was inspected: a P2 that holds becomes undecided. stuck: for the rules of
// stuck_wait_is(); else for all others.
void kernel_unsettle(struct inspection *l, bool stuck);
// Does a thread sit in a system call on F? Then P3 says so.
bool kernel_threads_hold(struct inspection *l, struct suspect *s);
// P3 of a row whose events are not those that C waits for.
void kernel_say_masked(struct suspect *s, int epfd, uint32_t events);
// Another wait of the coroutine than F, whose descriptor is open; NULL: none.
const struct ctp_wait *kernel_other_wait(const struct inspection *l, const struct suspect *s);
