// SPDX-License-Identifier: MIT
//
// watch.h - ctp-ps --watch: a live screen.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct watch_options {
	pid_t pid; // 0: the only one that is traced, else the user picks one
	uint64_t delay_ns;
	bool color;
	bool all; // begins with each coroutine by itself, not with groups
};

// Why there was nothing to watch.
struct watch_why {
	pid_t pid;        // the process in question
	const char *text; // or this, if it is not NULL
	int signal;       // what ended us
};

// Until the user has seen enough: 0. Else *why, and enum find_why or -errno about why->pid.
int watch_run(const struct watch_options *o, struct watch_why *why);
