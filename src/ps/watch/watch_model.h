// SPDX-License-Identifier: MIT
//
// watch_model.h - coroutines from one inspection to the next: which there are, and what each
// did in between. A row has its station's place; its id says which coroutine is there.
#pragma once

#include "ps/listing/listing.h"
#include "ps/read/groups.h"

struct watch_row {
	struct coroutine c;  // as it was when it was copied last; since_ns is not kept up: see since
	uint64_t turn;       // its station's, as of that copy
	uint64_t since;      // CLOCK_MONOTONIC ns at which it became what it is; 0 = not known
	uint64_t before;     // changes as of the inspection before
	uint32_t stack;      // as recorded when it left last, though it runs now; 0 = none was seen
	uint64_t slice_ns;   // the longest that it was seen to run without a switch
	int64_t stack_bytes; // how much of its stack was in use when it was shown last; -1: not known
	float rate, cpu;     // switches a second; share of one CPU. Below 0: not known
	bool there, known;   // known: at the inspection before, too
	bool closed;         // it waits for what has ended
	bool finding;        // ctp-run has found something out about it as it is now
	// of a C++20 coroutine, which has no station
	uint8_t frame_state;             // its enum listing_state + 1; 0: it is none
	const struct listing_row *frame; // in the listing of this inspection
};

#define WATCH_NO_GEN UINT32_MAX // of a descriptor to which a frame's registration led

// What a thread's samples say of a coroutine, since the inspection before.
struct watch_ran {
	uint64_t id, cpu_ns, slice_ns;
};

struct watch_model {
	struct watch_row *rows;
	size_t n, capacity;
	size_t stations;        // so many; rows behind them have none
	struct ctp_name *names; // one for each of the first `named` stations, if the program gave any
	size_t named;
	uint64_t begun,
		last; // CLOCK_MONOTONIC ns at which this inspection and the one before began; 0 = none
	uint64_t now; // when this one ended
	uint64_t count, created, suspended, running, pooled, closed;
	uint64_t unsettled;
};

void watch_model_deinit(struct watch_model *m);
// An inspection begins, of so many stations. 0 or -ENOMEM.
int watch_model_begin(struct watch_model *m, size_t stations, uint64_t begun);
// Is what was copied of this station still so? Then there is nothing to take.
bool watch_model_same(struct watch_model *m, size_t station, uint64_t turn, uint64_t id);
// What stands there now. `since`: as in struct watch_row.
void watch_model_take(struct watch_model *m, size_t station, const struct ctp_state *s, uint64_t since,
		      bool settled);
// One that has no station, of this inspection alone. 0 or -ENOMEM.
int watch_model_add(struct watch_model *m, const struct watch_row *r);
// The inspection has ended: rates and shares. cpu: whether CPU times are known at all.
void watch_model_end(struct watch_model *m, uint64_t now, const struct watch_ran *ran, size_t nran, bool cpu);
// The row of a coroutine, or NULL.
const struct watch_row *watch_model_find(const struct watch_model *m, uint64_t id);
// What the program calls it, fit for a terminal, in buf; "" if it does not say.
const char *watch_model_name(const struct watch_model *m, const struct watch_row *r, char buf[CTP_NAME_TEXT]);
// How long it has been as it is, at the time of the inspection.
uint64_t watch_model_age(const struct watch_model *m, const struct watch_row *r);
