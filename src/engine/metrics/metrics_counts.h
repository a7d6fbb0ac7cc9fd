// SPDX-License-Identifier: MIT
//
// metrics_counts.h - what the tables of a process say now, added up: coroutines by state, what they wait for
// and where, and what the witness holds of them.
#pragma once

#include "ctp/region.h"
#include "engine/witness/witness.h"

#define METRICS_STATES 6u // by enum ctp_life
#define METRICS_KINDS 11u // by enum ctp_fd_kind; the last: without a known wait
#define METRICS_SITES 20u // that have a name of their own
#define METRICS_VERDICTS 3u
#define METRICS_RULES 32u

struct metrics_site {
	char name[160]; // "server+0x1234"; empty: not known
	uint64_t n;
};

struct metrics_counts {
	uint64_t states[METRICS_STATES], kinds[METRICS_KINDS];
	uint64_t findings[METRICS_RULES][METRICS_VERDICTS]; // coroutines; proven, likely, suspect
	struct metrics_site sites[METRICS_SITES];           // the most coroutines first
	unsigned nsites;
	uint64_t other_sites; // suspended elsewhere
};

extern const char *const metrics_verdicts[METRICS_VERDICTS];
// Adds what is so of one process. 0 or -ENOMEM. witness: NULL, there is none.
int metrics_counts_add(struct metrics_counts *c, const struct ctp_region *r, const struct witness *witness);
