// SPDX-License-Identifier: MIT
//
// diff.h - compares two traces: findings that are new or fixed, places that take longer.
#pragma once

#include <stdio.h>

#include "analyze/diff/diff_stats.h"
#include "analyze/report/finding.h"

enum { DIFF_OLD, DIFF_NEW, DIFF_SIDES };

struct diff_side {
	const struct world *world;
	struct report report;
	struct profile profile;
	bool has_times;    // its history was read
	const char *lacks; // what it cannot be asked, in words; NULL: nothing
};

// Findings of the same rule and functions: one fingerprint.
struct diff_finding {
	uint64_t fingerprint;
	const struct finding *of[DIFF_SIDES]; // the one with the strongest verdict; NULL: none
	size_t n[DIFF_SIDES];                 // coroutines
};

// A place in the program, by the names of its functions: the same in another build.
struct diff_site {
	uint64_t key;
	char *where;                  // "wait_readable server.c:64 <- serve <- conn_main"
	size_t suspended[DIFF_SIDES]; // at the end
	struct profile_histogram times[PROFILE_COUNT][DIFF_SIDES];
};

struct diff {
	struct diff_side sides[DIFF_SIDES];
	struct diff_finding *findings;
	size_t nfindings, findings_capacity;
	struct diff_site *sites;
	size_t nsites, sites_capacity;
	struct idmap by_finding, by_site;
};

// Reads both; findings of NEW that OLD has as well are marked known. 0 or -errno, *at: which of them.
int diff_make(struct diff *d, const struct world *old, const struct world *now,
	      const struct report_settings *settings, int *at);
void diff_deinit(struct diff *d);

// One difference in time, the largest first.
struct diff_shift {
	const struct diff_site *site;
	enum profile_weight weight;
	enum diff_change change;
	double ratio;
};
// All that differ; *few: how many were not compared, as a side has too few. 0 or -ENOMEM.
int diff_shifts(const struct diff *d, struct diff_shift **out, size_t *n, size_t *few);
extern const char *const diff_times[PROFILE_COUNT];  // "wait", "slice", "latency"
const char *diff_word(const struct diff_finding *f); // "new", "vanished", "grown", "shrunk", "same"

int diff_text(FILE *to, const struct diff *d, bool color); // 0 or -errno
int diff_json(FILE *to, const struct diff *d);
