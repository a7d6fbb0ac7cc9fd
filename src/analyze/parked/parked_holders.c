// SPDX-License-Identifier: MIT
//
// A coroutine that holds a lock or a permit is resumed and gives it back; then a waiter is resumed. So the
// holder is at a place to which those went next that had just left, or has come from there itself. If each
// waiter that was resumed was resumed by such a one, nothing else gives what they wait for: no publisher, no
// timer. No living coroutine holds it if all that were created alike and do not wait are where one of them
// was right before it came; one that is deeper, or elsewhere, may hold it and be slow. Coroutines that were
// created elsewhere must be where they began, before the first one waited. One that runs may be anywhere. A
// permit that outlives the function that took it, until the next request, can be held where none is seen.
#include "analyze/parked/parked_holders.h"

static bool is_outside(const struct parked_history *l, const struct ctp_state *s, size_t place)
{
	return s->life != CTP_RUNNING && s->stack && s->stack < l->m->stack_index.n &&
	       (l->before[s->stack] >> place & 1) && !(l->after[s->stack] >> place & 1);
}

static bool is_where_it_began(const struct parked_history *l, const struct parked_member *of, size_t place)
{
	return of->first_stack && of->stack == of->first_stack && of->began_ns < l->v[place].came_first;
}

static bool none(const struct parked_history *l, size_t place, bool others)
{
	for (size_t i = 0; i < l->m->stations.n; i++) {
		const struct ctp_state *s = image_state(l->m, i);
		const struct parked_member *of = parked_history_member(l, s->id);
		if (!of || !of->runs || of->at == place + 1)
			continue;
		bool alike = l->made[of->made_at] >> place & 1;
		if (alike ? !is_outside(l, s, place) : others && !is_where_it_began(l, of, place))
			return false;
	}
	return true;
}

bool parked_holders_none(const struct parked_history *l, size_t place)
{
	return none(l, place, true);
}

bool parked_holders_none_alike(const struct parked_history *l, size_t place)
{
	return none(l, place, false);
}

bool parked_holders_gave(const struct parked_spot *p)
{
	return p->free && p->left && p->given == p->left;
}
