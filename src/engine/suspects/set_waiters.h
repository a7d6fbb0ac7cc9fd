// SPDX-License-Identifier: MIT
//
// set_waiters.h - coroutines that wait through an epoll set that was closed (CTP025).
#pragma once

#include "engine/inspect/inspect.h"

struct set_waiter {
	uint64_t key; // the set, by number and generation, or an entity
	uint32_t cand;
};

struct set_waiters {
	const struct ctp_region *r;
	struct set_waiter *sets;       // sorted once all are added
	struct set_waiter *referenced; // entities that a registration there leads to, sorted
	size_t nsets, sets_room, nreferenced, referenced_room;
};

bool set_waiters_add(struct set_waiters *w, uint32_t cand);
void set_waiters_ready(struct set_waiters *w); // all are added
void set_waiters_deinit(struct set_waiters *w);
// Calls found for each set through which coroutine *s waits; wait: index in s->waits, -1 = a registration
// leads to it.
void set_waiters_match(const struct set_waiters *w, const struct ctp_state *s,
		       void (*found)(void *ctx, uint32_t cand, int wait), void *ctx);
