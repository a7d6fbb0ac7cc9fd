// SPDX-License-Identifier: MIT
//
// Who has a lock, or a permit, is resumed, and gives it back: then one that waits is resumed. So who has it
// is where those are next that have just left the place, or has come from there itself. If each that was
// resumed from there was resumed by such a one, nobody else gives what they wait for: no publisher, no timer.
// Nobody who lives has it, if all that were made alike and do not wait are where one of them was right before
// it came: whoever is deeper, or elsewhere, may have it, and be slow. Others, that were made elsewhere, are
// where they were when they began, which was before the first one waited. Who runs may be anywhere.
// A permit that outlives the function that took it, until the next request, can be held where none is seen.
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
