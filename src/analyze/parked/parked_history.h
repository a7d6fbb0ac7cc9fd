// SPDX-License-Identifier: MIT
//
// parked_history.h - the places where coroutines are parked for long: which coroutines waited there before,
// and what the others that wait there did when one of them was resumed.
#pragma once

#include "analyze/case/pass.h"
#include "base/idmap.h"
#include "trace/parked_place.h"
#include "trace/world.h"

#define PARKED_LONG_NS 1000000000ULL
enum { PARKED_PLACES = 32 };
// Who uses a place: those who ever waited there, or all that were made where these were.
enum parked_group { PARKED_VISITORS, PARKED_MADE_ALIKE, PARKED_GROUPS };
// What a place is: whoever calls a lock does not matter, but who calls a sleep does.
enum parked_placing { PARKED_SHORT, PARKED_USUAL, PARKED_PLACINGS };

struct parked_member {
	uint64_t id;
	uint32_t made_at;
	uint32_t visited, left; // bits, by place: it was there; it was resumed from there
	uint8_t at;             // the row of the place where it waits, and one more; 0: it is elsewhere
	bool runs;              // it was resumed, and has not ended
	bool rested, first; // it was suspended before; where it is now, it is for the first time in its life
	uint64_t began_ns;
	uint32_t first_stack, stack; // where it was suspended first, and last
};

struct parked_spot {
	uint64_t at;
	size_t parked;                  // for long, by the tables
	uint64_t left, who;             // how often one was resumed from there, and how many did it
	uint64_t given, giver, gave_ns; // right after one who had it had run; who had it, and ran last
	bool free;                  // some went past, where others were next who had waited, before one did
	uint64_t longest, shortest; // waits of those
	uint64_t came_first, came_last, changed_ns; // the first and the last to come; to come or go
	uint64_t last, last_ns;                     // who was resumed from there last, and when
	uint64_t others;                            // resumed since changed_ns
	struct parked_users {
		uint64_t outside, inside;
		uint64_t handed; // resumed right after another of them had run, or had ended
		bool refuted;    // one was resumed while all of them waited
		uint64_t ended_ns;
		uint64_t over, never,
			over_ns;  // those that have ended, and never waited there; the last one's end
		uint64_t life_ns; // the longest of theirs
		struct {
			uint64_t id, ns;
		} ran[2];
	} of[PARKED_GROUPS];
};

struct parked_history {
	const struct image *m;
	uint64_t end_ns;
	struct parked_spot v[PARKED_PLACES];
	size_t n;          // 0 where nothing is known
	unsigned char *of; // by stack: the row of its place, and one more; 0: none
	uint32_t *made;    // by the creator's stack: places where some of them waited, bits
	// By stack: places to which one came right from there; where one was next after it was there. Bits.
	uint32_t *before, *after;
	struct parked_member *members;
	size_t nmembers, room;
	struct idmap by_id;
	bool counts, lost;
};

// Is it parked, and not in a pool of its own?
bool parked_history_is(const struct image *m, const struct ctp_state *s, size_t row);
// told: by row of stations, who does not count. 0 or -errno; then, too, it must be ended.
int parked_history_read(const struct world *w, const struct image *m, const unsigned char *told,
			struct parked_history v[PARKED_PLACINGS]);
void parked_history_deinit(struct parked_history v[PARKED_PLACINGS]);
// NULL: its creation is not known.
const struct parked_member *parked_history_member(const struct parked_history *l, uint64_t id);
// Was one there, with this stack, right after it had waited at the place, and none right before it came?
bool parked_history_holds(const struct parked_history *l, uint32_t stack, size_t place);
// Have others been resumed since, or has a loop gone on?
bool parked_history_goes_on(const struct world *w, const struct parked_history *l,
			    const struct parked_spot *p);
// Have all threads that run coroutines gone to sleep since, and not woken?
bool parked_history_rests(const struct world *w, const struct parked_history *l, const struct parked_spot *p);

// Writes a finding of one that is parked at such a place.
typedef int parked_report(const struct pass *pass, const struct world *w, const struct parked_history *l,
			  const struct parked_spot *p, const struct ctp_state *s, struct results *out);
// Of all who stand at the places that count, and are not in `told` yet; they are then. is: by place, from 0.
// 0 or -errno.
int parked_history_tell(const struct pass *pass, const struct world *w, const struct parked_history *l,
			const bool is[PARKED_PLACES], unsigned char *told, parked_report *report,
			struct results *out);
// The same of each placing. asks: does place p count?
typedef bool parked_asks(const struct world *w, const struct parked_history *l, size_t p);
int parked_history_judge(const struct pass *pass, const struct world *w,
			 const struct parked_history v[PARKED_PLACINGS], parked_asks *asks,
			 unsigned char *told, parked_report *report, struct results *out);
