// SPDX-License-Identifier: MIT
//
// cycle.h - which entity waits for which, for CTP015: coroutines through queues (pass_cycle.c) or
// each other's locks (cycle_locks.c), threads through each other's ends (cycle_threads.c).
#pragma once

#include "analyze/case/pass.h"

#define CYCLE_NOBODY UINT64_MAX // more than one, or one that is not known

struct cycle_end { // an open number of a description
	uint64_t desc;
	const struct ctp_fd *fd;
	int64_t number;
};

struct cycle_waiter {
	const struct ctp_state *state;
	const struct set_queue *queue;
	const struct ctp_fd *fd;
	uint64_t on;   // whom it waits for; CYCLE_NOBODY
	size_t next;   // that one's place; SIZE_MAX
	unsigned walk; // in which it was discovered
};

struct cycle {
	const struct pass *pass;
	const struct world *world;
	const struct image *image;
	struct cycle_end *ends; // sorted by desc
	size_t nends;
	struct cycle_waiter *v; // sorted by id
	size_t n;
};

// Sorts c->ends, as the two below need it.
void cycle_sort_ends(struct cycle *c);
// Who has written to (read from) the description, by any number of it: 0 = none. An entity's id, or
// CTP_FD_UNNAMED with a thread slot.
uint64_t cycle_user(const struct cycle *c, uint64_t desc, bool wrote);
// The one entity that can make the descriptor ready to be read (written to, if `out`).
uint64_t cycle_mover(const struct cycle *c, const struct ctp_fd *f, bool out);

// The verdict on a circle. `left`: a message that one of them left another, or NULL; `asks`: somebody in
// it waits for what nobody idle waits for.
void cycle_decide(const struct cycle *c, struct obligations *o, const struct set_unread *left, bool asks,
		  struct results *out);

// Tells of all circles that go through a pthread_join.
int cycle_threads(const struct cycle *c, struct results *out);

// Tells of circles of coroutines that are parked at each other's locks.
int cycle_locks(const struct cycle *c, struct results *out);
