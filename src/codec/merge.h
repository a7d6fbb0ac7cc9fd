// SPDX-License-Identifier: MIT
//
// merge.h - one order for the records of several threads. Records are ordered by time.
// Where clocks of two CPUs differ or a ring was read late, the count that each coroutine
// keeps of its own state changes decides: a switch follows the record that suspended its
// coroutine at from_n - 1 (to_n - 1), on whatever thread.
//
// A reader of whole streams pushes packets of the queue that ctp_merge_run() asks for, and closes
// streams that have ended. A reader of live rings pushes what there is, and calls
// ctp_merge_turn() after each round over all rings.
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "ctp/record.h"

// What is remembered of a coroutine or native stack, from its first record to
// its end. `n` is the merge's; the rest is for whoever takes the records.
struct ctp_merge_entity {
	uint64_t id;
	uint64_t n, time; // its last state change that was handed on
	uint64_t addr, ts;
	bool native;     // a thread's own stack
	bool discovered; // (trace/transitions.h: this and all below)
	bool suspended;
	uint32_t stack;
	uint64_t entry, since_ns, ready_ns, ready_fd, ready_by, mine;
};

// A record in its place. Switches: from and to are set, and their full counts
// (records keep the low bits); a gap: something of it was lost before. Others:
// `from` is the entity that the record is about, if it is about one.
struct ctp_merged {
	struct ctp_event event;
	uint32_t queue, tid;
	bool gap, from_gap, to_gap; // gap: either
	struct ctp_merge_entity *from, *to;
	uint64_t from_n, to_n;
};

struct ctp_merge;
typedef void ctp_merge_sink(void *arg, const struct ctp_merged *m);

struct ctp_merge *ctp_merge_new(ctp_merge_sink *sink, void *arg); // NULL: no memory
void ctp_merge_free(struct ctp_merge *m);

// Appends a thread's records to its queue; queues are numbered from 0 by the caller, and
// come into being here. 0, or -ENOMEM: then nothing was taken.
int ctp_merge_push(struct ctp_merge *m, uint32_t queue, uint32_t tid, const struct ctp_event *e, uint32_t n);

// Live: all queues hold what there is. Hands on all records whose predecessors
// have been; one that still lacks them after another whole round goes on with
// a gap.
void ctp_merge_turn(struct ctp_merge *m);

// Whole streams: hands on what is certain, that is while no open queue is
// empty. Returns a queue that must get more, or be closed, or UINT32_MAX: done.
uint32_t ctp_merge_run(struct ctp_merge *m);
void ctp_merge_open(struct ctp_merge *m, uint32_t queue);  // expects records
void ctp_merge_close(struct ctp_merge *m, uint32_t queue); // no more come

// The entity with this id, if anything of it has been handed on since it began; else NULL. Good until the
// next record is handed on.
struct ctp_merge_entity *ctp_merge_find(struct ctp_merge *m, uint64_t id);

// Every entity that is known now, in no order.
typedef void ctp_merge_each_sink(void *arg, struct ctp_merge_entity *e);
void ctp_merge_each(struct ctp_merge *m, ctp_merge_each_sink *sink, void *arg);

// Hands on everything that is left.
void ctp_merge_flush(struct ctp_merge *m);
