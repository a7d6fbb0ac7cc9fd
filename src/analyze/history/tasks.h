// SPDX-License-Identifier: MIT
//
// tasks.h - the tasks that the program tells of (ctp_task_begin of ctp/event.h): how long each took, and what
// the coroutine that worked for it did meanwhile. What it did sums up to how long it took, exactly.
#pragma once

#include "analyze/history/tracks_names.h"

enum tasks_part { TASKS_RUNNING, TASKS_READY, TASKS_WAITING, TASKS_BLOCKED, TASKS_UNKNOWN, TASKS_PARTS };
extern const char *const tasks_parts[TASKS_PARTS]; // their names

#define TASKS_SITES 16u  // of a task, in each part; the last takes all others
#define TASKS_SLOWEST 5u // of a type, told one by one

struct tasks_place {
	const struct tracks_site *site; // NULL: not known, or all others
	uint64_t ns;
};
// The most first, once tasks_make has ended.
struct tasks_places {
	struct tasks_place items[TASKS_SITES];
	unsigned n;
};

struct tasks_split {
	uint64_t parts[TASKS_PARTS]; // ns
	struct tasks_places waits,   // where it waited
		blocks;              // where its thread was in a call that blocks, and it did not go away
};

struct task {
	uint64_t id, coroutine, tid; // who works for it: 0 is the thread's own stack
	uint64_t begin_ns, ns;       // ns: how long it took, or so far
	unsigned type;
	uint32_t row; // of those that go on
	bool ended;
	struct tasks_split split;
	// while it goes on
	enum tasks_part state;
	const struct tracks_site *site;
	uint64_t since_ns;
	struct task *next; // of the same coroutine
};

struct tasks_type {
	char *name;
	uint64_t *took; // ns of those that ended; sorted at the end
	size_t n, capacity;
	uint64_t begun;
	struct tasks_split split; // sums
	struct task *slowest[TASKS_SLOWEST];
	unsigned nslowest;
};

struct tasks {
	const struct report *report; // while they are made
	struct tracks_names names;
	struct tasks_type *types;
	size_t ntypes, capacity;
	struct task **open; // those that go on, by row
	size_t nopen, open_capacity;
	struct idmap by_id;        // of an open task -> row
	struct idmap by_coroutine; // -> row of `workers`
	struct task **workers;     // the first open task of each
	size_t nworkers, workers_capacity;
	uint64_t unmatched; // ends of tasks whose begin is not in the trace, and tasks that begin twice
};

// 0 or -errno, as transitions_walk; it is to be given back in any case.
int tasks_make(struct tasks *t, const struct report *r, const char *symfs);
// How long `percent` of those that ended took at most; there are some.
uint64_t tasks_rank(const struct tasks_type *y, unsigned percent);
void tasks_deinit(struct tasks *t);
