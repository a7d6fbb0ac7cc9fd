// SPDX-License-Identifier: MIT
//
// signal_wait.h - a coroutine that waits on a signalfd of which no signal can come (CTP031).
#pragma once

#include "engine/inspect/inspect.h"

// Can none of the signals of the signalfd reach it? One that no thread blocks is delivered in another way or
// dropped; of a child's end there is none while SIGCHLD is ignored. (Any other one that is ignored, and
// blocked, does come.) 1, 0, -1 = cannot be told. why: which, and for what reason, if it is not NULL.
int signal_wait_deaf(pid_t pid, int fd, char *why, size_t bytes);

// P3. `registered`: a set has a row of it, armed.
void signal_wait_judge(struct inspection *l, struct suspect *s, bool registered);
