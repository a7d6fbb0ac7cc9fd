// SPDX-License-Identifier: MIT
//
// tables.h - what a region's tables hold now: coroutines, threads, modules.
#pragma once

#include "base/clock.h"
#include "ps/read/find.h"
#include "ps/read/groups.h"

struct tables_thread {
	uint32_t tid, slot;
	uint64_t current, native, switches;
	bool waits;                    // it is in a call that a hook knows of
	uint32_t wait_call;            // enum ctp_wait_call
	int32_t wait_fd;               // as that says
	uint64_t wait_seq, wait_since; // since: ticks
	int64_t wait_timeout_ns;
	uint64_t began;    // ticks
	uint64_t wait_buf; // the lock, where it is one
	uint32_t flags;    // CTP_THREAD_*
	bool sets;         // it has been in poll or select
};

struct tables {
	struct clock_pairs clock;     // as of when they were read
	struct coroutine *coroutines; // created, suspended, running
	size_t n, capacity;
	struct coroutine *ended; // finished or destroyed, and in the tables still; if they were asked for
	size_t nended, ended_capacity;
	struct tables_thread *threads; // live ones
	size_t nthreads, threads_capacity;
	struct ctp_module *modules;
	size_t nmodules;
	uint64_t created, suspended, running;
	uint64_t ready, pooled; // of the suspended (ps/model/status.h)
	uint64_t finished, destroyed, switches;
	bool with_ended;
	bool partial; // a thread has ended and its counts have gone with it
	size_t unsettled;
	uint64_t unplaced; // coroutines of version-1 probes for which no station was left
};

int tables_read(struct tables *t, const struct found *f, bool ended); // 0 or -errno
// These alone, of what is empty.
int tables_read_threads(struct tables *t, const struct found *f);
int tables_read_modules(struct tables *t, const struct found *f);
void tables_deinit(struct tables *t);
uint64_t tables_age_ns(const struct tables *t, uint64_t ticks); // how long ago that was; 0: of no time
// Does descriptor `f` stand in the set with which a thread is in poll or select? 1 yes, 0 no, -1 maybe (the
// loop that polled it is not in its wait now). `tid`, unless NULL: of which thread, where that is known; else
// 0.
int tables_polled(const struct tables *t, const struct ctp_fd *f, uint32_t *tid);
const struct tables_thread *tables_thread(const struct tables *t, uint32_t slot); // or NULL
