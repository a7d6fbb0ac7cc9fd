// SPDX-License-Identifier: MIT
//
// descent.h - whether a process that requests a region belongs to this run.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine/target/proc.h"

enum { DESCENT_IMAGES = 1024 };

// How sure it is. Only a process of which it is proven is ever sent a signal.
enum descent { DESCENT_NONE, DESCENT_LIKELY, DESCENT_PROVEN };

// What the present image of a process is known by: it has not called exec since.
struct descent_image {
	bool known;
	unsigned char random[PROC_RANDOM]; // AT_RANDOM
};

// What tells the processes of one run from others. Filled in once, before the program starts.
struct descent_run {
	// Is `pid` a process of this run that lives, and is that proven?
	bool (*knows)(const void *ctx, pid_t pid);
	const void *ctx;
	struct descent_file {
		uint64_t ino; // as mappings show it
		uint32_t major, minor;
		const char *path; // NULL: goes by the numbers alone
	} region, library;        // the first region; libctp.so, whose path is NULL if it is none of ours
	uint64_t started;         // when the first process was made (field 22 of /proc/PID/stat)
	bool adopts;     // ctp-run becomes the parent of orphans: who has it as parent need not be its child
	unsigned images; // noted so far
	unsigned char random[DESCENT_IMAGES][PROC_RANDOM]; // of those, round and round
};

// The program's first process has been made. region: NULL if it has no path.
int descent_init(struct descent_run *run, int region_fd, const char *region, const char *library,
		 pid_t first);
// claimed_fd: of the spare region that `pid` has taken; -1: it requests one by the word of the first.
// *pidfd: of `pid`, if the answer is not NONE; else errno says why: ESRCH, it is gone; EPERM, it is
// another's.
enum descent descent_of(const struct descent_run *run, pid_t pid, int claimed_fd, int *pidfd);
// Reads what the present image of `pid` is known by. proven: its children are proven by it, too.
void descent_note(struct descent_run *run, pid_t pid, bool proven, struct descent_image *image);
// Has `pid` called exec since descent_note? What cannot be told counts as yes.
bool descent_new_image(pid_t pid, const struct descent_image *image);
