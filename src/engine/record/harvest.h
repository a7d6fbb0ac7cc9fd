// SPDX-License-Identifier: MIT
//
// harvest.h - takes records out of the rings and gives them to the writer.
#pragma once

#include <sys/types.h>

#include "ctp/region.h"
#include "engine/record/flight_recorder.h"
#include "engine/record/ran.h"
#include "engine/record/writer.h"

struct harvest_thread {
	bool live;          // this use of the slot has begun, as far as we know
	bool broken;        // the ring's counts make no sense: left alone
	uint32_t use, uses; // this use; uses begun, over all images
	uint32_t tid;
	uint64_t tail;
	uint64_t head_seen;          // at the last turn
	uint64_t taken_ns;           // when it was last emptied
	struct ctp_cursor cursor;    // after its last record
	uint64_t lost_reported, bad; // slots of unknown kind, counted as lost
};

struct harvest {
	const struct ctp_region *region;
	pid_t pid; // whose
	struct writer *writer;
	struct writer_process *to; // NULL: nothing is taken yet, and what threads leave behind is dropped
	bool went_on;              // --flight: something was written since the last turn
	bool pressed;              // there is something that must be taken
	bool late;                 // a ring had an eighth of its slots full at the last turn
	struct ctp_thread ended;   // counters of ended uses, this image
	uint64_t switches_before, created_before, lost_before; // of earlier images
	void (*seen)(void *arg, const struct writer_batch *b); // is shown each batch, too; NULL: nobody
	void *seen_arg;
	struct ran *ran;                   // is shown them, too; NULL: nobody asks who ran when
	struct flight_recorder *flight;    // --flight: what of the chunks is on the disk; else NULL
	struct ctp_record *batch, *events; // the same room for events of the program's own
	uint32_t batch_max;
	uint32_t high; // no slot from here on was ever used
	struct harvest_thread threads[CTP_THREADS_MAX];
};

// What the counters of all threads add up to.
struct harvest_sums {
	uint64_t switches, created, lost;
	uint32_t threads;
};

struct harvest *harvest_new(const struct ctp_region *r, struct writer *w); // NULL: no memory
void harvest_free(struct harvest *h);
// From now on all records are taken, for process `index`; *region is where h->region will be. 0 or -ENOMEM.
int harvest_begin(struct harvest *h, unsigned index, const struct ctp_region *const *region);
// The program waits at its end for the final inspection: records can wait.
bool harvest_put_off(const struct ctp_region *r);
// Checks every ring. all: empties them; else records that are few and young may stay.
// True if any thread wrote something since the last turn. Unless all: breaks off where harvest_put_off.
bool harvest_turn(struct harvest *h, uint64_t now_ns, bool all);
// --flight: writes the history that is not on the disk yet. since: ticks; nothing older.
void harvest_keep(struct harvest *h, uint64_t since);
// The program has called exec: empties the old region and ends its streams; then r is the region.
void harvest_leave(struct harvest *h, uint64_t now_ns);
void harvest_enter(struct harvest *h, const struct ctp_region *r);
struct harvest_sums harvest_sum(const struct harvest *h);
void harvest_add(struct harvest_sums *to, const struct harvest_sums *more);
