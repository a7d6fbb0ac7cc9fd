// SPDX-License-Identifier: MIT
//
// report.h - all that is reported of one process, and the forms in which it is written.
#pragma once

#include <stdio.h>

#include "base/idmap.h"
#include "ps/read/fds.h"
#include "ps/read/groups.h"
#include "ps/read/stacks.h"
#include "ps/read/tables.h"
#include "ps/read/threads.h"
#include "ps/model/why.h"
#include "symbols/frames.h"

struct report_wants {
	bool all, whole; // --all, --stack
	bool tree, why;
	const uint64_t *ids; // only these coroutines
	size_t nids;         // 0: all
};

struct forest; // ps/model/forest.h
struct listing;

struct report {
	const struct found *found;
	struct tables tables;
	struct groups groups;
	struct stacks *stacks;
	struct symbols *symbols;
	struct fds *fds;
	struct why *why;       // with wants->why
	struct forest *forest; // with wants->tree
	struct idmap by_id;    // of the coroutines, with wants->why or ->tree, and of a core
	struct threads threads;
	const struct report_wants *wants;
	bool judged;                    // ctp-run writes down what it finds out, and it was read
	const struct listing *unlisted; // whom no table knows: C++20 coroutines, and what was there before an
					// attach; NULL: there are none
	uint64_t missing;               // the first of wants->ids that is not there; 0
	char root[40];                  // where the process's files lie, if not here; else ""
};

int report_make(struct report *r, const struct found *f,
		const struct report_wants *w); // both outlive it; 0 or -errno
// Without coroutines: symbols, stacks and descriptors, to be asked.
int report_begin(struct report *r, const struct found *f);
void report_deinit(struct report *r);
// Frames of a stack by its number, innermost first. 0 or -ENOMEM.
int report_frames(const struct report *r, uint32_t stack, struct frames *out);
// Where a coroutine was created: the innermost frame that is the program's own, or NULL.
const struct symbols_frame *report_created_at(const struct report *r, const struct coroutine *c);
const struct symbols_frame *report_entry(const struct report *r, const struct coroutine *c); // or NULL
// What it is called wherever it is shown, fit for a terminal: by its function. `buf` holds it.
const char *report_label(const struct report *r, const struct coroutine *c, char *buf, size_t bytes);
// An entity in words: "itself", "coroutine 7 acceptor", "thread 4711"; CTP_FD_SEVERAL, CTP_FD_UNNAMED as in
// the fd table.
const char *report_who(const struct report *r, uint64_t id, const struct coroutine *self, char *buf,
		       size_t bytes);
const struct coroutine *report_find(const struct report *r, uint64_t id); // of those that live, or NULL
// The innermost frame of the program's own in a recorded stack, or NULL.
const struct symbols_frame *report_own_frame(const struct report *r, uint32_t recorded);
const char *report_state(
	const struct coroutine *c); // "suspended", "created", "running", "finished", "destroyed"
const char *report_status(const struct coroutine *c); // the same, with "ready" and "pooled" distinguished
const struct threads_one *report_thread(const struct report *r,
					const struct coroutine *c); // that runs it, or NULL

int text_write(FILE *to, const struct report *r, bool color); // 0 or -errno
int json_write(FILE *to, const struct report *r);
