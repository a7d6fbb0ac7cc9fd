// SPDX-License-Identifier: MIT
//
// stuck.h - coroutines that wait for a descriptor that is open, and should have been woken. Nothing
// posts a candidate for these: the tables are walked when the program is idle, and what they suggest is
// asked of the kernel, so a suspect is confirmed by both. The suspects are those of suspects.h, with
// cand UINT32_MAX and a `c` made up here.
#pragma once

#include "engine/inspect/inspect.h"
#include "engine/witness/suspects.h"

struct stuck {
	uint64_t moves;      // ctp_region_moves
	uint64_t still_ns;   // since then it is the same
	uint64_t walked;     // moves as of the last walk that could ask all
	uint64_t walk_ns;    // no walk before
	uint64_t busy_ns;    // nor before this, while the program runs
	uint64_t pause_ns;   // between two of those
	uint64_t stopped_ns; // when it was last seen to stand still by no doing of its own; 0: never
	uint64_t again_ns;   // a program that stands still is walked again then; 0: never
	uint64_t again_pause_ns;
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

// Adds suspects: CTP002, 004, 005, 008, 009, 027, 028; at the final inspection, before an exit, CTP003 too.
// final_ns: when the final inspection must be done with it; 0: a live inspection.
void stuck_gather(struct stuck *k, struct suspects *s, pid_t pid, uint64_t final_ns, uint64_t now_ns);
