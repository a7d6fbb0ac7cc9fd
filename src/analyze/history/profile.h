// SPDX-License-Identifier: MIT
//
// profile.h - where time went, by stack: the source of folded stacks, speedscope, pprof and the
// flame graph. Memory grows with stacks and coroutines, not with events.
#pragma once

#include "analyze/report/frames.h"
#include "base/intern.h"
#include "trace/world.h"

enum profile_weight {
	PROFILE_SUSPENDED, // ns that coroutines were away, by the stack with which they had left; who still
			   // is: up to the snapshot
	PROFILE_RUNNING, // ns of slices, by the stack with which they ended; a thread's own stack without the
			 // sleep of its loop
	PROFILE_LATENCY, // ns from the first event for a suspended coroutine until it went on, by the stack
			 // with which it had left
	PROFILE_COUNT,   // switches, by the leaver's stack
	PROFILE_WEIGHTS
};

// Its row by name, and what it counts. UINT_MAX from profile_weight_find: there is none.
struct profile_unit {
	const char *name, *unit, *title; // unit: "nanoseconds" or "count"
};
extern const struct profile_unit profile_units[PROFILE_WEIGHTS];
unsigned profile_weight_find(const char *name);

enum profile_part {
	PROFILE_STACK, // left with this stack
	PROFILE_STILL, // runs at the snapshot; with what stack nobody knows
	PROFILE_IDLE,  // the loop slept
	PROFILE_LOST,  // records were lost meanwhile: suspended or running, nobody knows
};

// [2^i, 2^(i+1)) ns; the first also holds 0, the last all above.
#define PROFILE_BUCKETS 44
struct profile_histogram {
	uint64_t n, sum, least, most;
	uint64_t buckets[PROFILE_BUCKETS];
};

struct profile_site {
	const struct image *image; // NULL: JSON lines, or a trace without its tables
	enum profile_part part;
	bool native;    // of a thread's own stack
	bool unended;   // waits that had not ended at the snapshot, told apart (PROFILE_APART)
	uint32_t stack; // id; 0: not captured
	uint64_t pc;    // JSON lines: where it left
	uint64_t entry; // the function in which the coroutine began; 0: not known
	uint64_t named; // a coroutine that has the name by which these are told apart; 0: they are not, or
			// have none
	uint64_t weight[PROFILE_WEIGHTS];
	struct profile_histogram *times[PROFILE_COUNT]; // single waits, slices and latencies; NULL: none
};

// Who runs still, and whoever took an event.
struct profile_loop {
	uint64_t turned_ns; // when it last took one, or had slept
	uint64_t slept_ns;  // since it last went on, where that is known
	uint64_t begun_ns;  // when that was, or, where the history begins later, its first sleep; UINT64_MAX:
			    // neither is known
};

// What becomes of time that outweighs all else: the sleep of loops, and waits that had not ended at the
// snapshot. Of a core, which has no other waits, these are always among the others.
enum profile_span {
	PROFILE_ENDED, // it is left out, and counted
	PROFILE_WHOLE, // it is there as all other time is
	PROFILE_APART, // it is there, such waits in sites and a histogram of their own
};

struct profile {
	const struct world *world;
	struct profile_site *sites;
	size_t n, capacity;
	struct profile_histogram all[PROFILE_COUNT]; // of coroutines, without what is in the next
	struct profile_histogram all_unended;
	uint64_t weight[PROFILE_WEIGHTS]; // sums
	// the profile's own
	struct symbols **symbols; // by image
	const char *symfs;
	bool by_name;
	enum profile_span span;
	uint64_t idle_ns;                  // sleep of loops that is left out
	uint64_t unended, unended_ns;      // waits that had not ended
	const struct program_class *event; // PROFILE_COUNT is of these; NULL: of switches
	struct profile_unit event_unit;
	char event_name[256];
	struct intern names;
	struct idmap by_key, entries, pcs, moved_after, loops;
	struct profile_loop *turns; // by row of loops
	size_t turns_capacity;
	int r;
};

// Reads the whole history. by_name: what the program calls its coroutines tells them apart. event:
// PROVIDER:NAME of what is counted in place of switches; NULL: none is. 0 or -errno; -ESPIPE: JSON lines from
// a pipe are gone.
int profile_make(struct profile *p, const struct world *w, const char *symfs, bool by_name, const char *event,
		 enum profile_span span);
// What is left out of this weight, or of all (PROFILE_WEIGHTS), in words that fit in FORMAT_NOTE; "":
// nothing.
void profile_note(const struct profile *p, unsigned weight, char *buf, size_t bytes);
const struct profile_unit *profile_unit_of(const struct profile *p, unsigned weight);
void profile_deinit(struct profile *p);

// A stack, outermost first: who it is of, its frames, and what else is to be said in [brackets].
struct profile_frame {
	char *name;
	const struct symbols_frame *frame; // NULL: only a name
};
struct profile_stack {
	struct profile_frame *items;
	size_t n, capacity;
};
// The frames of a site, anew in *s. 0 or -ENOMEM.
int profile_stack_of(struct profile *p, const struct profile_site *site, struct profile_stack *s);
// What the program calls those of a site; NULL: nothing, or they are not told apart by it.
const char *profile_name_of(const struct profile_site *site, char buf[CTP_NAME_TEXT]);
void profile_stack_deinit(struct profile_stack *s);

// All sites whose weights are not all 0, in the order of their names. Two may have the same names, in other
// places.
struct profile_row {
	const struct profile_site *site;
	struct profile_stack stack;
};
struct profile_rows {
	struct profile_row *items;
	size_t n;
};
int profile_rows_of(struct profile *p, struct profile_rows *rows);
void profile_rows_deinit(struct profile_rows *rows);
