// SPDX-License-Identifier: MIT
//
// maps.h - the mappings of a process, one by one.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct maps_line {
	uint64_t lo, hi, offset, ino;
	uint32_t major, minor; // device
	char perms[5];
	const char *path; // "" if anonymous; as /proc/PID/maps has it
	// Where all are kept: so many before it, all adjoining up to it, have no path.
	uint32_t nameless;
};

// Takes a line apart, which is cut off at its newline and outlives *m. False: it is none.
bool maps_parse(char *line, struct maps_line *m);
// Calls `each` for one mapping after the other until it says something other
// than 0, which is then the answer; else 0, or -errno if the process cannot be
// read. A program may have a great many: none is kept.
int maps_each(pid_t pid, int (*each)(void *arg, const struct maps_line *m), void *arg);
