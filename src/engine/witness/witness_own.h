// SPDX-License-Identifier: MIT
//
// witness_own.h - what the files of the witness share: witness.c inspects while the program runs,
// witness_final.c at its end, and both as witness_inspect.c does.
#pragma once

#include <stdio.h>

#include "engine/inspect/inspect.h"
#include "engine/stored/keys.h"
#include "engine/target/clock.h"
#include "engine/suspects/complete_turns.h"
#include "engine/witness/control_group.h"
#include "engine/witness/descriptors.h"
#include "engine/witness/long_sleep.h"
#include "engine/witness/pauses.h"
#include "engine/suspects/stuck.h"
#include "engine/suspects/suspects.h"

#define WITNESS_MS 1000000ULL
enum { WITNESS_CHECK_MS = 30, WITNESS_STOPPED_MS = 1000, WITNESS_AGAIN = 12 };

struct witness {
	const struct ctp_region *r;
	pid_t pid;
	FILE *out, *descriptors;
	struct descriptors_told told; // by the second
	const struct witness_clock *clock;
	bool prove;
	struct keys keys;
	struct suspects suspects;
	struct stuck stuck;
	struct complete_turns loops;
	struct long_sleep sleeps;
	struct control_group control;
	struct pauses pauses;
	struct proc_tasks last;        // threads at the last check
	uint64_t check_ns, inspect_ns; // not before
	uint64_t patient_ns;           // until then, the last look waits for a stopped program
	uint64_t awake_ns;             // and so long it has waited for threads that were awake after a stop
	unsigned scans;                // tries between ticks
	size_t described;              // suspects that there were when the descriptors were written
	uint64_t describe_ns;          // they are not written again before, unless there are more of them
	uint64_t describe_ms;          // between two times
	uint64_t describe_moves;       // ctp_region_moves() at the last one
	bool describe_begun;
	unsigned certain;
	bool patient; // nobody else needs ctp-run
};

// Inspects, judges, and writes what is known of l->who.
void witness_inspect(struct witness *w, struct inspection *l);
// Those that are due. The caller frees `who`.
size_t witness_due(const struct witness *w, uint64_t now_ns, bool all, struct suspect ***who);
// A stopped program is waited for, so long as there is time: until it goes on, and sleeps again.
void witness_await_rest(struct witness *w);
// A request keeps what it waits for from everybody's eyes, and a closed file alive.
void witness_note_rings(struct witness *w, size_t n);
// What the search would find of the others, and whether one was resumed to which nothing led.
bool witness_look_at_control(struct witness *w, const struct inspection *like, bool own);
// The same, once for all that the tables hold now, if a proof rests on a search.
void witness_ask_control(struct witness *w, const struct inspection *l, struct suspect *const *who, size_t n);
// Of those that were proven before, it is said anew what is known.
void witness_doubt_proven(struct witness *w, uint64_t ns);
