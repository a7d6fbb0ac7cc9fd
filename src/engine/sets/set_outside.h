// SPDX-License-Identifier: MIT
//
// set_outside.h - a pipe whose end to write to this process has closed, and others hold.
#pragma once

#include "engine/inspect/inspect.h"

// Is the descriptor the end to read of such a pipe, of which no open number here is the other end?
bool set_outside_is(const struct ctp_region *r, uint64_t fd);
// Another process that can write to it; 0: none is seen.
pid_t set_outside_writer(const struct inspection *l, int fd);

enum { SET_OUTSIDE_SEEN = 16 };
// Such processes as they were at earlier looks.
struct set_outside_seen {
	struct set_outside_one {
		pid_t pid;
		uint64_t since_ns; // it has slept since then, at least
		struct proc_tasks tasks;
	} v[SET_OUTSIDE_SEEN];
	size_t n;
};
void set_outside_deinit(struct set_outside_seen *s);

// What a process does that could write, and does not.
struct set_outside_does {
	bool child;        // of the process that waits
	bool sleeps;       // all threads
	const char *call;  // in which its first thread sleeps; NULL: not known
	char wchan[40];    // the kernel's function there; empty: not known
	uint64_t still_ns; // none of its threads has run for so long, at least; 0: not known
};
// False: it is gone. Notes it for the next look.
bool set_outside_ask(struct set_outside_seen *s, pid_t parent, pid_t pid, struct set_outside_does *does);
