// SPDX-License-Identifier: MIT
//
// suspects.h - coroutines that wait for something that was closed.
#pragma once

#include "engine/inspect/inspect.h"

#define SUSPECTS_MAX 16384u

struct suspects {
	const struct ctp_region *r;
	struct suspect **v;
	size_t n, lost;      // lost: more than SUSPECTS_MAX at once
	uint32_t *known;     // where in v each pair of candidate and coroutine is: a hash
	unsigned char *seen; // by slot of the table: matched with the stations, not yet given back
	uint32_t from;       // candidates before this number are matched
	uint32_t held;       // slots that are `seen`
	bool round;          // the table has been filled once
	uint64_t pass_ns;    // no pass over the stations before
	uint64_t release_ns; // no slot is given back before
};

bool suspects_init(struct suspects *s, const struct ctp_region *r);
void suspects_deinit(struct suspects *s);

// Matches new candidates with coroutines. all: every candidate anew, as a
// coroutine may have suspended after its descriptor was closed.
void suspects_gather(struct suspects *s, bool all, uint64_t now_ns);
// Drops those that ran since, or are refuted.
void suspects_withdraw(struct suspects *s);
// When the table is half full: gives slots back to libctp.so if no suspect is left of their candidate.
void suspects_release(struct suspects *s, uint64_t now_ns);
// Is the coroutine still suspended where it was?
bool suspect_holds(const struct ctp_region *r, const struct suspect *s);
