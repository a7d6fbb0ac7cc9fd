// SPDX-License-Identifier: MIT
//
// witness.h - what the kernel and the program's own memory show about coroutines whose descriptor was
// closed under them. libctp.so posts candidates into the region; the witness reads /proc/PID, epoll
// registrations, threads and memory, and writes one line for each inspection to witness.jsonl
// (spec/trace.md). An obligation holds only if there is no doubt.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

#include "ctp/region.h"
#include "engine/stored/keys.h"
#include "engine/target/clock.h"

struct witness;

// Watches process `pid`, whose region is *r. `out` (witness.jsonl) and
// `descriptors` (descriptors.jsonl) stay the caller's, may be NULL, and are
// flushed after every inspection. *r and *clock must outlive the witness, as the
// clock's slope may be refined meanwhile. `prove`: scan memory also if the
// program is never idle. NULL if out of memory.
struct witness *witness_new(const struct ctp_region *r, pid_t pid, FILE *out, FILE *descriptors,
			    const struct witness_clock *clock, bool prove);

// Frees it; takes NULL. Detaches from every thread it may still hold.
void witness_free(struct witness *w);

// A coroutine that the program could resume though no search found what leads to it; 0: none is known. A
// forked process keeps its coroutines as the one does that forked it.
uint64_t witness_control(const struct witness *w);
void witness_inherit(struct witness *w, uint64_t control);

// At every turn of the engine's loop (1 to 20 ms); cheap when nothing is pending. `patient`: nobody but this
// process needs ctp-run, so a search of its memory may last, as long as it does not run.
void witness_poll(struct witness *w, bool patient);

// The kernel's keys that were there before the program had anything to keep.
const struct keys *witness_keys(const struct witness *w);

// How often it became certain that a coroutine can no longer be woken.
unsigned witness_certain(const struct witness *w);

// Every coroutine that it holds to be stuck, as far as it knows now.
struct suspect;
void witness_each(const struct witness *w, void (*each)(void *arg, const struct suspect *s), void *arg);

// The final inspection while the process still lives: until `deadline` at most. may_stop: its
// threads may be stopped for as long, since it is about to end anyway
// (a stopped epoll_wait returns EINTR afterwards).
void witness_final(struct witness *w, bool may_stop, uint64_t deadline);

// The process is gone: answers what the tables alone can show.
void witness_ended(struct witness *w);
