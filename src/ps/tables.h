// SPDX-License-Identifier: MIT
//
// tables.h - what stands in a region's tables now: coroutines, threads, modules.
#pragma once

#include "ps/find.h"
#include "ps/groups.h"

struct tables_thread {
	uint32_t tid, slot;
	uint64_t current, native, switches;
};

struct tables {
	struct coroutine *coroutines; // created, suspended, running
	size_t n, capacity;
	struct tables_thread *threads; // live ones
	size_t nthreads, threads_capacity;
	struct ctp_module *modules;
	size_t nmodules;
	uint64_t created, suspended, running;
	uint64_t finished, destroyed, switches;
	bool partial; // a thread has ended and its counts have gone with it
	size_t unsettled;
};

int tables_read(struct tables *t, const struct found *f); // 0 or -errno
void tables_deinit(struct tables *t);
const struct tables_thread *tables_thread(const struct tables *t, uint32_t slot); // or NULL
