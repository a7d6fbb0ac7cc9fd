// SPDX-License-Identifier: MIT
//
// attach.h - loads libctp.so into a process that runs already, and takes it out of the way again.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "ctp/region.h"

struct attach {
	pid_t pid;
	int library; // descriptor of libctp.so: the name by which it is loaded is made of it
	char path[4096];
	pid_t keeper;      // does what is to be done there; 0: none
	int leash, answer; // pipes to and from it; -1: none
	char why[256];
	const struct ctp_region *region; // where it is mapped here; set by the caller
	uint32_t found;                  // coroutines that were there before
};

// Can `pid` be attached to at all? 0, or -errno and a->why. library: path of libctp.so.
int attach_check(struct attach *a, pid_t pid, const char *library);
// Hooks the process, whose region is at `region`. How many entries were redirected, or -errno and a->why:
// then the process is as it was, but that libctp.so may be loaded.
int64_t attach_hook(struct attach *a, const char *region);
// Unhooks it, and calls meanwhile(arg) again and again until that is done. 0; -ESRCH: it has ended; else
// -errno and a->why.
int attach_unhook(struct attach *a, void (*meanwhile)(void *arg), void *arg);
void attach_deinit(struct attach *a);
