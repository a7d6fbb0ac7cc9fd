// SPDX-License-Identifier: MIT
//
// stuck_pace.h - when the walk over the tables (stuck.c) is due.
#pragma once

#include "engine/target/proc.h"

enum { STUCK_PACE_REST_MS = 30 }; // a program that did nothing for so long is idle

struct stuck {
	uint64_t moves;              // ctp_region_moves
	uint64_t still_ns;           // since then it is the same
	uint64_t walked;             // moves as of the last walk that could ask all
	uint64_t walk_ns;            // no walk before
	uint64_t busy_ns;            // nor before this, while the program runs
	uint64_t pause_ns;           // between two of those
	uint64_t watch_ns, watch_ms; // when the kernel is asked again though nothing moves; 0: it is not
	uint64_t watched;            // moves as of then
	uint64_t stopped_ns;         // when it was last seen to stand still by no doing of its own; 0: never
};

// Is it being stopped and continued? A program that goes on is awake for a moment.
#define STUCK_LATELY_NS 1000000000ULL
static inline bool stuck_stopped(const struct stuck *k)
{
	return k->stopped_ns && proc_now_ns() - k->stopped_ns < STUCK_LATELY_NS;
}
static inline void stuck_note_stopped(struct stuck *k, bool stopped)
{
	k->stopped_ns = stopped ? proc_now_ns() : k->stopped_ns;
}

// Is it time for a walk? moves: ctp_region_moves.
bool stuck_pace_due(struct stuck *k, uint64_t moves, uint64_t now_ns, bool *idle);
// The program is stopped: soon again.
void stuck_pace_put_off(struct stuck *k, uint64_t now_ns);

struct stuck_paced {
	uint64_t moves, begun_ns;
	bool idle, stopped;
	bool whole; // all could be asked
	bool watch; // there may be something to be read soon, of which nothing can tell the program
};
// A walk is over.
void stuck_pace_walked(struct stuck *k, const struct stuck_paced *w);
