// SPDX-License-Identifier: MIT
//
// Who is at the other end of a queue inside the program: the one entity that has written to it,
// or read from it. If there are several, nobody counts.
#include "analyze/pass/cycle.h"

#include <stdlib.h>

#include "base/search.h"

static int by_desc(const void *a, const void *b)
{
	const struct cycle_end *x = a, *y = b;
	return x->desc < y->desc ? -1 : x->desc > y->desc;
}

static const struct cycle_end *first_end(const struct cycle *c, uint64_t desc)
{
	size_t lo = FIRST_NOT(c->nends, i, c->ends[i].desc < desc);
	return c->ends + lo;
}

static void also(uint64_t *who, uint64_t one)
{
	if (one & CTP_FD_SEVERAL)
		*who = CYCLE_NOBODY;
	else if (one)
		*who = *who && *who != one ? CYCLE_NOBODY : one;
}

uint64_t cycle_user(const struct cycle *c, uint64_t desc, bool wrote)
{
	uint64_t who = 0;
	for (const struct cycle_end *e = first_end(c, desc); e < c->ends + c->nends && e->desc == desc; e++)
		also(&who, wrote ? e->fd->last_out : e->fd->last_in);
	return who;
}

void cycle_sort_ends(struct cycle *c)
{
	if (c->nends)
		qsort(c->ends, c->nends, sizeof(*c->ends), by_desc);
}

// Who sits in a wait for it.
static uint64_t sitter(const struct cycle *c, uint64_t desc)
{
	uint64_t who = 0;
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].fd->desc == desc)
			also(&who, c->v[i].state->id);
	return who;
}

// A channel that was never used in that direction belongs to whoever uses its other end at all.
uint64_t cycle_mover(const struct cycle *c, const struct ctp_fd *f, bool out)
{
	bool counter = f->kind == CTP_FD_EVENTFD || f->opened_how == CTP_CALL_EVENTFD;
	uint64_t other = counter ? f->desc : f->peer_desc,
		 who = other ? cycle_user(c, other, !out) : CYCLE_NOBODY;
	if (who || counter)
		return who ? who : CYCLE_NOBODY;
	who = cycle_user(c, other, out);
	also(&who, sitter(c, other));
	return who ? who : CYCLE_NOBODY;
}
