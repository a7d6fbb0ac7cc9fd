// SPDX-License-Identifier: MIT
//
// slot.h - a hidden directory, ".ctp-new-UID-K", in which ctp-run creates what must appear
// under its own name as a whole or not at all. A slot that no process holds, since its owner
// was killed, is removed by the next run that finds it.
#pragma once

#include <stdbool.h>

#define SLOT_TRACE "t" // a trace that is being made, or one that was replaced and is to be removed
#define SLOT_AWAY "o"  // one that was replaced, where the file system cannot exchange two names
#define SLOT_SOCKET "s"
#define SLOT_CONTROL "ctp-control" // by which ctp-ctl knows it among descriptors
#define SLOT_ALIAS "libctp.so"

struct slot {
	int dir; // held (flock) as long as it is open; -1: none
	char name[40];
};

// Takes a free slot in the directory `parent`. 0 or -errno.
int slot_take(struct slot *s, int parent);
// Removes it with what is in it.
void slot_drop(struct slot *s, int parent);
// If there is nothing in it.
void slot_drop_empty(struct slot *s, int parent);
// Removes those that nobody holds any more. It may take long: they may hold whole traces.
void slot_sweep(int parent);
