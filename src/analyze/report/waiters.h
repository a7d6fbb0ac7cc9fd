// SPDX-License-Identifier: MIT
//
// waiters.h - coroutines that wait and are in no finding, the longest waits first. A wait that
// the kernel can end is healthy however long it lasts; its age only points a reader to a peer
// that may never answer.
#pragma once

#include "analyze/report/finding.h"

struct waiters_group { // coroutines of one image that left from the same stack
	const struct image *image;
	const struct ctp_state *oldest;
	enum account kind; // healthy, parked, pooled or undecided
	size_t n;
};

struct waiters {
	struct waiters_group *items; // the longest wait first
	size_t n, capacity;
};

// 0 or -ENOMEM.
int waiters_collect(struct waiters *w, const struct report *r);
void waiters_deinit(struct waiters *w);
// How long the group's oldest has waited, up to the snapshot.
uint64_t waiters_age_ns(const struct report *r, const struct waiters_group *g);
