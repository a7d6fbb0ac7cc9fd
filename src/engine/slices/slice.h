// SPDX-License-Identifier: MIT
//
// slice.h - one slice under observation: slice_others.c finds what waits meanwhile, slice_calls.c
// what a sleeping thread is blocked in, slice_path.c where a computing thread spends its time;
// slice_sites.c counts and writes.
#pragma once

#include <stdio.h>

#include "ctp/region.h"
#include "engine/target/proc.h"
#include "engine/target/clock.h"
#include "unwind/unwind.h"

#define SLICE_BLOCKED_NS 10000000ULL // asleep in one call for so long: CTP017, CTP018
#define SLICE_LONG_NS 100000000ULL   // a slice of that length: CTP016

struct slice_stack {
	uint64_t pcs[UNWIND_FRAMES];
	size_t n;
};

// What a thread that sleeps is blocked in.
enum slice_kind { SLICE_NONE, SLICE_CALL, SLICE_LOCK, SLICE_DISK };

struct slice_block {
	enum slice_kind kind;
	bool polls;        // in poll, select, or an epoll wait
	uint64_t ns;       // for how long it surely slept in it
	uint64_t asked_ns; // a sleep: how long it is to be; 0
	const char *call;  // "read", "pthread_mutex_lock"
	int32_t fd;        // -1: none
	uint32_t gen, fd_kind;
	uint64_t lock;      // address, or 0
	char lock_name[64]; // of the program's data; empty: none
	uint32_t owner_tid; // of the lock; 0: not known
	uint64_t owner;     // entity that runs there; 0
	struct slice_stack stack, owner_stack;
};

// "read"; a text that stays. NULL: no number of a call.
const char *slice_calls_name(int64_t nr);

struct slice_path;

struct slice {
	uint32_t slot;
	int tid;
	uint64_t id, changes; // of the coroutine, while it runs
	uint32_t station;     // UINT32_MAX: not found
	uint64_t began_ns, sampled_ns;
	bool woke;                   // began_ns: when its loop's wait was last seen, not the switch
	struct proc_task last, call; // call: the one that it slept in last
	unsigned samples;
	uint64_t cpu_ns, delayed_ns, blocked_ns; // what is left was a stop, or cannot be told
	uint64_t asleep_ns;                      // in `call`, for sure
	uint64_t asked_ns;                       // by `call`, if that is a sleep
	struct slice_block block;                // the longest
	bool in_block;                           // and the present one
	struct slice_path *path;                 // of one that computes; NULL: none
	struct slice_stack common;               // what its samples have in common
	bool tried;                              // to open it
	bool asked;                              // the rest is known
	bool vague;                              // but it was not known yet what some other thread polls
	unsigned others;        // coroutines that wait for what only this thread polls, or to run
	unsigned served;        // those that another thread polls for
	unsigned by_set;        // of both, those that wait through an epoll set
	uint32_t went_on, left; // stack ids: where the slice began; where it ended, 0 = not known
};

// What t, asleep on thread slot `slot`, is blocked in. `state`: of the coroutine.
void slice_blocked_in(const struct ctp_region *r, pid_t pid, const struct proc_task *t, uint32_t slot,
		      const struct ctp_state *state, struct unwind **u, struct slice_block *out);

// The epoll sets that other threads are there for.
#define SLICE_SETS 64
struct slice_served {
	int32_t sets[SLICE_SETS];
	unsigned n;
	bool any;   // one of them polls what is not known
	bool polls; // one of them runs a loop over poll or select
};
// Finds the station of l, and counts who waits. When it went on, in ticks; 0: it is not there.
uint64_t slice_find(const struct ctp_region *r, const struct slice_served *v, struct slice *l);

// Samples of a thread that computes. NULL: the kernel does not let us.
struct slice_path *slice_path_open(int tid);
void slice_path_close(struct slice_path *p);
// Takes those that have come; how many. drop: the last n were not of this slice after all.
size_t slice_path_take(struct slice_path *p, struct unwind *u, const struct ctp_state *state);
void slice_path_drop(struct slice_path *p, size_t n);
void slice_path_common(const struct slice_path *p, struct slice_stack *out);

// What was found, by rule, coroutine and site: a line when it is new or much worse, all at the end.
struct slice_sites;
struct slice_sites *slice_sites_new(FILE *out);
void slice_sites_free(struct slice_sites *s);
// over: the slice has ended; else the line says that it goes on.
void slice_sites_note(struct slice_sites *s, unsigned rule, const struct slice *l, uint64_t ns, bool over);
void slice_sites_flush(struct slice_sites *s);
