// SPDX-License-Identifier: MIT
//
// timeline.h - who ran when, for a picture: for each thread, for the coroutines that have a
// lane of their own, and for all others by the function in which they began. In bins for a
// history of any length; switch by switch where there are few enough.
#pragma once

#include <stdbool.h>

#include "analyze/history/bins.h"
#include "analyze/report/finding.h"
#include "base/idmap.h"

#define TIMELINE_LANES 64u      // coroutines with a lane of their own
#define TIMELINE_SLICES 150000u // told one by one up to here
#define TIMELINE_GROUPS 200u
#define TIMELINE_EVENTS 5000u // of the program's own: the first ones are told
#define TIMELINE_GROUP_BINS 512u

enum timeline_thread_kind { THREAD_COROUTINE, THREAD_NATIVE, THREAD_ASLEEP }; // of bins
enum timeline_lane_kind { LANE_RUNS, LANE_READY, LANE_WAITS };

#define TIMELINE_NATIVE UINT64_MAX
struct timeline_slice {
	uint64_t id; // coroutine, or TIMELINE_NATIVE; 0: asleep in its loop's wait, or not known
	uint64_t ns;
	uint64_t ready; // an event for it had come so many ns before
};

struct timeline_thread {
	const struct image *image; // NULL: not known
	uint64_t tid;
	uint64_t current;     // who runs; 0: not known
	bool native;          // it is the thread's own stack
	bool discovered;      // `current` is known
	uint64_t ready;       // of its slice
	uint64_t first, last; // ns from the start: of its first move, and up to where it is told
	uint64_t switches;
	struct bins bins;
	struct timeline_slice *slices; // from `first` on, without a gap
	size_t n, capacity;
};

struct timeline_lane {
	const struct image *image;
	uint64_t id;
	uint64_t first, last;
	bool begun, running;
	uint64_t switches;
	struct bins bins;
};

enum timeline_life { LIFE_CREATED, LIFE_SUSPENDED, LIFE_RUNNING, LIVES };

struct timeline_group {
	const struct image *image;
	uint64_t entry;
	uint64_t made, now[LIVES], peak, last;
	double *bins; // TIMELINE_GROUP_BINS times LIVES: mean number of them
};

// An event of the program's own.
struct timeline_event {
	const struct image *image;
	uint64_t ns, tid, coroutine; // 0: nobody's
	char *text;                  // "http:request path = \"/x\", status = 200"
};

struct timeline {
	uint64_t start_ns, span_ns;
	struct timeline_thread *threads;
	size_t nthreads, threads_capacity;
	struct idmap by_thread;
	struct timeline_lane lanes[TIMELINE_LANES];
	unsigned nlanes;
	bool chosen; // the lanes are, by the tables
	struct idmap by_lane;
	struct timeline_group *groups; // the last takes those for which there was no room
	size_t ngroups, groups_capacity;
	struct idmap by_group;
	struct timeline_event *events;
	size_t nevents, events_capacity;
	uint64_t events_left_out;
	size_t nslices;
	bool every_slice; // all are there
	bool begun;
	uint64_t switches, first_ns, gaps; // first_ns: of the first move
	int unread;                        // why there are no moves: -errno, or 0
};

// 0 or -ENOMEM. What has no moves (a core file, JSON lines by a pipe) is said in `unread`.
int timeline_make(struct timeline *t, const struct report *r);
void timeline_deinit(struct timeline *t);
