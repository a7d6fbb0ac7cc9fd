// SPDX-License-Identifier: MIT
//
// find.h - traced processes, and access to their regions.
#pragma once

#include <stdbool.h>

#include "ctp/ctp.h"
#include "ps/read/source.h"

struct found {
	pid_t pid;
	pid_t engine; // its ctp-run; 0 = gone
	bool probes;  // version-1 probes alone write to the region, of which the tables are not mapped
	struct corefile *core; // in place of a process; else NULL
	const char *core_path; // as given
	struct source region;
	struct ctp_header header; // a checked copy: what it says of the layout holds
};

// Why there is nothing to show.
enum find_why {
	FIND_NO_PROCESS = 1,
	FIND_NOT_TRACED,
	FIND_NOT_YET, // the region is there, but nobody in it
	FIND_OTHER_VERSION,
	FIND_DAMAGED,
	FIND_MANY, // a ctp-run with several processes
};

// The process with this id, or the one that the ctp-run with this id traces.
// 0; enum find_why; -EACCES or -EPERM if it may not be looked at; -errno.
int find_process(pid_t pid, struct found *out);
pid_t find_whole(pid_t pid); // the process that a thread's id names, or `pid`
// All of this user; of all users for root. 0 or -errno.
int find_all(struct found **out, size_t *n);
// A core file. 0; enum find_why; -EPROTO: *why says what is wrong with it; -errno.
int find_core(const char *path, struct found *out, const char **why);
void find_release(struct found *f);
// The region's file, opened by way of whoever holds it: what it was can then be read when the process has
// ended. -1: that may not be.
int find_file(const struct found *f);
// A process's command line in one line that is fit for a terminal; what is cut off it is marked by "…".
#define FIND_COMMAND 4096 // room for what is not cut as a rule
void find_command(pid_t pid, char *buf, size_t bytes);
// The same of one that was found, whichever way.
void find_command_of(const struct found *f, char *buf, size_t bytes);
// The same for any text of a program's: what could steer a terminal becomes '?'.
void find_clean(char *text);
