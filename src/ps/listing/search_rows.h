// SPDX-License-Identifier: MIT
//
// search_rows.h - rows of a process or a core that was never traced: its stackful coroutines.
#pragma once

#include "find/contexts.h"
#include "ps/listing/listing.h"
#include "ps/listing/stackless_rows.h"
#include "ps/read/known.h"

struct search_source {
	pid_t pid;                 // of a process,
	const char *core;          // or a core file, as given
	const char *saved;         // a folder with what was saved beside the core; NULL
	bool lost;                 // keep those to which nothing leads
	bool stop;                 // with one hold of all its threads
	const struct known *known; // what is listed already, and left out unless `lost`; NULL: nothing is
};

// A core of a process and what the kernel knows, into a new folder. hold: stop threads meanwhile, `all` or
// those that do not see it; tables: of a traced process, with ctp's. 0 or -errno.
int search_save(pid_t pid, bool hold, bool all, bool tables, const char *folder);
// 0; -EPROTO: *why; -EACCES, -EPERM: it may not be looked at; -ESRCH; -errno.
int search_rows(struct listing *l, const struct search_source *from, bool apart, const char **why);
// The same of a process, by one who looks again and again: without groups, in a listing that is kept from
// look to look, as by stackless_again. It ends after some seconds, with what it has found until then.
int search_again(struct listing *l, struct stackless_kept *k, pid_t pid, bool *anew);
