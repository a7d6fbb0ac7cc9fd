// SPDX-License-Identifier: MIT
//
// finding.h - cases grouped into findings, and the report that formats print.
#pragma once

#include "analyze/case/pass.h"
#include "analyze/report/frames.h"

struct finding {
	const struct pass *pass;
	enum verdict verdict;
	uint64_t fingerprint;
	const struct verdict_case **cases; // at least one; the first is the exemplar
	size_t n, capacity;
	bool known; // stands in the baseline
	// of the exemplar
	struct symbols *symbols;
	struct frames waiter, closer, creator, opener;
};

// What coroutines have in common that are listed as one group (group_by.h).
enum group_by {
	GROUP_BY_SITE,
	GROUP_BY_CREATOR,
	GROUP_BY_NAME,
	GROUP_BY_ENTRY
}; // in the order of --group-by

// What is true of a suspended coroutine, once of each (accounting.h).
enum account {
	ACCOUNT_NONE, // not suspended
	ACCOUNT_FOUND,
	ACCOUNT_HEALTHY,
	ACCOUNT_PARKED,
	ACCOUNT_POOLED,
	ACCOUNT_UNDECIDED,
	ACCOUNTS
};

struct report {
	const struct world *world;
	enum group_by group_by;
	struct results results;
	struct symbols **symbols; // by image
	struct finding *findings;
	size_t nfindings, capacity;
	size_t known, suppressed;
	uint64_t healthy, parked; // of image_counts, without those that a finding calls stuck
	bool compared;            // with a baseline
	uint64_t accounting[ACCOUNTS];
	unsigned char **accounts; // by image and row of its stations: enum account; NULL: no tables
	unsigned char **kept;     // by image and row: has it ended (finished_kept.h)? NULL: no tables
	size_t others; // findings of other rules than those of --lost-wakeup; 0: all rules were asked for
	char **unused; // lines of the suppressions that matched nothing
	size_t nunused, unused_capacity;
	struct place_shared *shared; // by image (facts/place.h); NULL: not asked for yet
};

struct report_settings {
	const char *rules;    // comma list, or NULL = all
	enum verdict minimum; // findings below it are left out, inconclusive ones never
	const char *symfs;
	const char *baseline; // file, or NULL
	const char *suppress; // file, or NULL
	enum group_by group_by;
};

// Runs the passes and groups what they found. 0 or -errno.
// Those of all images, for who makes no findings. 0 or -ENOMEM.
int report_symbols(struct report *r, const char *symfs);
int report_make(struct report *r, const struct world *w, const struct report_settings *settings);
void report_deinit(struct report *r);
// Is the rule one of those that were asked for?
bool report_selects(const struct report_settings *settings, const struct pass *pass);
bool report_selects_rule(const struct report_settings *settings, enum ctp_rule rule);
// Marks and removes findings by two files. 0, or -errno with *at the file in question.
int report_filter(struct report *r, const struct report_settings *settings, const char **at);
// Counts r->others, the findings of other rules than those that `settings` names. 0, or as the two above.
int report_count_others(struct report *r, const struct report_settings *settings, const char **at);
// report_who of its first coroutine; of one without a stack, which the tables do not have, the function is
// that of its frame.
const char *report_subject(const struct report *r, const struct finding *f, char *buf, size_t bytes);
// Its coroutine's id; a frame's address as ctp-ps has it. buf holds it.
const char *report_number(const struct verdict_case *c, char *buf, size_t bytes);
// What is read by people and programs alike.
const struct symbols_frame *report_entry(const struct report *r, const struct verdict_case *c);
// " in process 4711" where there are several processes, else ""; buf holds it.
const char *report_where(const struct report *r, const struct image *m, char *buf, size_t bytes);
// "coroutine 12 reaper", or "the native stack of thread 4711"; buf holds it.
const char *report_who(const struct report *r, const struct image *m, uint64_t id, char *buf, size_t bytes);
// "reaper": what follows from its function and the stack that it last left from, so the same for all with
// these two; buf holds it.
const char *report_name(const struct report *r, const struct image *m, const struct ctp_state *e, char *buf,
			size_t bytes);
