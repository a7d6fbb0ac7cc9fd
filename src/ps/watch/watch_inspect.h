// SPDX-License-Identifier: MIT
//
// watch_inspect.h - an inspection of a process's tables, and the samples of its threads in
// between.
#pragma once

#include "base/clock.h"
#include "ps/read/find.h"
#include "ps/watch/watch_model.h"

struct watch_threads; // samples of who runs where

int watch_threads_new(struct watch_threads **out, const struct found *f); // 0 or -ENOMEM
void watch_threads_free(struct watch_threads *t);
// One sample. 0 or -errno.
int watch_threads_sample(struct watch_threads *t);
// How long to wait from one sample to the next: so that they cost little.
uint64_t watch_threads_pause_ns(const struct watch_threads *t);
// What the samples since the last call say of coroutines. Valid until the next sample.
const struct watch_ran *watch_threads_take(struct watch_threads *t, size_t *n);

// The thread whose own stack has this id, as sampled; 0: none.
uint32_t watch_threads_native(const struct watch_threads *t, uint64_t id);

struct watch_totals {
	uint64_t threads, switches, lost, finished, destroyed;
	uint64_t cpu_ns;         // of all threads since the samples began
	bool cpu_known, partial; // partial: a thread has ended, and its counts went with it
	uint64_t exit_begun, signal_taken;
	uint32_t modules, stacks, cands;
};

void watch_threads_totals(const struct watch_threads *t, struct watch_totals *out);
// All stations, into the model; the rest into *out. 0 or -errno.
int watch_inspect(struct watch_model *m, struct watch_threads *t, const struct found *f,
		  struct watch_totals *out);
