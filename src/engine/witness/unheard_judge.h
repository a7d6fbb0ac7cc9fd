// SPDX-License-Identifier: MIT
//
// unheard_judge.h - P3 of coroutines whose descriptor is open, and whose events reach nobody
// (suspects/unheard.h).
#pragma once

#include "engine/inspect/inspect.h"

// A descriptor that some loop waits for to take more; -1: none. Where a sink is full, its source is left out
// of the set until the sink has room: that is backpressure.
int unheard_full_one(const struct inspection *l);

// P3 of CTP002 without a candidate, and of CTP028, by what the kernel says of the description's
// registrations.
struct unheard_rows {
	unsigned n, needed; // needed: with an event of those that it needs
	int epfd;           // the set of the one that says most
	uint32_t events;    // of that one
};
void unheard_judge(struct inspection *l, struct suspect *s, const struct unheard_rows *rows);
