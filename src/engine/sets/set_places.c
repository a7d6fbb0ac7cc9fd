// SPDX-License-Identifier: MIT
//
// Who lives has a place alone, whoever had it before.
#include "engine/sets/set_places.h"

#include <stdlib.h>

#include "base/search.h"
#include "ctp/seq.h"
#include "ctp/there.h"

enum { STATIONS_MOST = 1 << 17 }; // of more, nobody is known

struct set_places_one {
	uint64_t at, id;
	bool top, lives;
};

static int by_place(const void *a, const void *b)
{
	const struct set_places_one *x = a, *y = b;
	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->top != y->top     ? x->top - y->top :
	       x->lives != y->lives ? y->lives - x->lives :
				      x->id < y->id;
}

static void add(struct set_places *e, const struct ctp_state *c)
{
	bool lives = c->life != CTP_FINISHED && c->life != CTP_DESTROYED;
	if (c->slot)
		e->v[e->n++] = (struct set_places_one){c->slot, c->id, false, lives};
	if (c->hi)
		e->v[e->n++] = (struct set_places_one){c->hi, c->id, true, lives};
}

static void read_all(struct set_places *e, const struct ctp_region *r)
{
	struct ctp_walk w = ctp_walk_states(r);
	e->read = true;
	e->v = w.n <= STATIONS_MOST ? calloc(2 * w.n + 1, sizeof(*e->v)) : NULL;
	for (uint64_t i = ctp_walk_from(&w, 0); e->v && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		struct ctp_state c;
		if (ctp_load32(&r->states[i].owner) == CTP_OWNER_GUEST && ctp_state_read(&r->states[i], &c) &&
		    c.entity == CTP_COROUTINE && c.life != CTP_NONE)
			add(e, &c);
	}
	if (e->n)
		qsort(e->v, e->n, sizeof(*e->v), by_place);
}

uint64_t set_places_find(struct set_places *e, const struct ctp_region *r, uint64_t at, bool top, bool *lives)
{
	struct set_places_one key = {.at = at, .top = top, .lives = true, .id = UINT64_MAX};
	if (!e->read)
		read_all(e, r);
	size_t i = FIRST_NOT(e->n, k, by_place(&e->v[k], &key) < 0);
	if (i == e->n || e->v[i].at != at || e->v[i].top != top)
		return 0;
	*lives = e->v[i].lives;
	return e->v[i].id;
}

void set_places_deinit(struct set_places *e)
{
	free(e->v);
	*e = (struct set_places){0};
}
