// SPDX-License-Identifier: MIT
//
// pauses.h - the moments at which all threads of a program sleep that is never idle for long. Much can be
// told of such a moment alone.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct pauses {
	unsigned missed; // in a row: of a program that does not sleep, no more are waited for
};

// Waits for one, for a while. False: there was none.
bool pauses_await(struct pauses *p, pid_t pid);
