// SPDX-License-Identifier: MIT
//
// watch_target.h - the process that is watched: all that is kept of it between inspections.
#pragma once

#include "ps/watch/watch_details.h"
#include "ps/watch/watch_frames.h"
#include "ps/watch/watch_view.h"

struct watch_target {
	struct found found;
	struct report report; // its symbols, stacks and descriptors alone
	struct watch_names *names;
	struct watch_threads *threads;
	struct watch_proofs *proofs;
	struct watch_model model;
	struct watch_frames frames;
	bool searched; // nobody traces it: all is found by search, and of what tables tell there is nothing
	struct watch_totals totals, before;
	struct watch_use use;
	int file; // the region's, for when the process has ended; -1
	struct watch_count rules[WATCH_RULES];
	size_t nrules;
	uint64_t cost_ns; // CPU time of an inspection
	unsigned looks;
	uint32_t modules; // as of when the symbols were read
	char command[256];
};

// Takes over `f`. 0 or -errno: then it has been released.
int watch_target_open(struct watch_target *t, const struct found *f);
// One that nobody traces. 0 or -errno: it may not be looked at.
int watch_target_search(struct watch_target *t, pid_t pid);
void watch_target_close(struct watch_target *t);
// A sample of its threads, and how long until the next one.
void watch_target_sample(struct watch_target *t);
uint64_t watch_target_pause_ns(const struct watch_target *t);
// One inspection. 0; -ESTALE: it is another image now; -errno.
int watch_target_look(struct watch_target *t);
// The process has ended: what it was stays to be read, where that is possible.
void watch_target_ended(struct watch_target *t);
void watch_target_head(const struct watch_target *t, struct watch_head *h);
// What is shown of these items.
void watch_target_show(struct watch_target *t, const struct watch_item *items, size_t n, bool grouped,
		       struct watch_shown *out);
