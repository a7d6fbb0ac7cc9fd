// SPDX-License-Identifier: MIT
//
// launch.h - starts the program in a child that waits first, so that its pid is known while
// the trace is created.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "engine/start/options.h"

// What ctp-run found at its own start, before it opened anything.
struct launch_inherited {
	bool closed[3]; // 0, 1, 2 were closed; ctp-run has /dev/null there
	int *fds;       // the others that were open
	unsigned n;
};

struct launch {
	pid_t pid;
	int go, error; // pipes: "go on" to the child; errno of its exec back
};

struct launch_plan {
	const char *path;
	char **argv;
	const char *preload;    // whole new value of LD_PRELOAD; NULL: leave it alone
	const char *const *env; // VAR=VALUE, of -E and of ctp-run; LD_PRELOAD is skipped
	unsigned n_env;
};

void launch_inherit(struct launch_inherited *in);
// 0 or -errno.
int launch_fork(struct launch *l, const struct launch_plan *plan, const struct launch_inherited *in);
// Lets the program begin. 0, or the positive errno of its exec.
int launch_go(struct launch *l);
// It is not to begin after all.
void launch_cancel(struct launch *l);
// Lets go of everything that is the program's: a reader must see the end of a
// pipe when the program closes it, not when ctp-run ends.
void launch_close_inherited(const struct launch_inherited *in);
