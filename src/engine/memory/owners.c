// SPDX-License-Identifier: MIT
//
// The declared stacks of all coroutines that run or are suspended, sorted, to name the owner of a word.
#include "engine/memory/owners.h"

#include <stdlib.h>

#include "base/search.h"
#include "ctp/there.h"

static int by_lo(const void *a, const void *b)
{
	const struct owner *x = a, *y = b;
	return x->stack.lo < y->stack.lo ? -1 : x->stack.lo > y->stack.lo;
}

void owners_init(struct owners *o, const struct inspection *l)
{
	struct ctp_walk w = ctp_walk_states(l->r);
	o->v = calloc(w.n + 1, sizeof(*o->v));
	for (uint64_t i = ctp_walk_from(&w, 0); o->v && i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *s = &l->r->states[i];
		if (s->owner == CTP_OWNER_GUEST && s->lo &&
		    (s->life == CTP_SUSPENDED || s->life == CTP_RUNNING))
			o->v[o->n++] = (struct owner){{s->lo, s->hi}, s->id};
	}
	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_lo);
}

void owners_deinit(struct owners *o)
{
	free(o->v);
	*o = (struct owners){0};
}

uint64_t owners_find(const struct owners *o, uint64_t addr)
{
	size_t lo = FIRST_NOT(o->n, i, o->v[i].stack.lo <= addr);
	return lo && addr < o->v[lo - 1].stack.hi ? o->v[lo - 1].id : 0;
}
