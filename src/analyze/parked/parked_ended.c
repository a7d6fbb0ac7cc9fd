// SPDX-License-Identifier: MIT
//
// Coroutines that were created elsewhere can do the same work as a parked one: they were suspended at the
// very same place, with the same callers. Only the last such place of each counts.
#include "analyze/parked/parked_ended.h"

#include <stdlib.h>

#include "trace/transitions.h"

#define EVENTS_MOST 20000000ULL // in a history that is walked for this alone

struct looking {
	const struct image *m;
	unsigned char *is; // by stack: some are parked there
	uint32_t *ended;
};

static void ends(struct looking *l, struct ctp_merge_entity *e)
{
	if (e && e->mine)
		l->ended[e->mine]++;
	if (e)
		e->mine = 0;
}

static int sink(void *arg, const struct transition *t)
{
	struct looking *l = arg;
	if (t->kind == CTP_EV_FINISH || t->kind == CTP_EV_DESTROY)
		ends(l, t->from);
	if (t->kind != CTP_EV_SWITCH || !t->from || !t->to)
		return 0;
	if (t->how == CTP_HOW_GONE || t->how == CTP_HOW_RETURN)
		ends(l, t->from);
	if (t->to->suspended && t->to->stack < l->m->stack_index.n && l->is[t->to->stack])
		t->to->mine = t->to->stack;
	return 0;
}

uint32_t *parked_ended(const struct world *w, const struct image *m)
{
	size_t n = m->stack_index.n + 1;
	struct looking l = {.m = m, .is = calloc(n, 1), .ended = calloc(n, sizeof(*l.ended))};
	bool ok = l.is && l.ended && w->nimages == 1 && w->form == WORLD_DIRECTORY &&
		  w->events <= EVENTS_MOST;
	for (size_t i = 0; ok && i < m->stations.n; i++) {
		const struct ctp_state *s = image_state(m, i);
		if ((m->row_flags[i] & IMAGE_ROW_PARKED) && s->stack < m->stack_index.n)
			l.is[s->stack] = s->stack != 0;
	}
	ok = ok && !transitions_walk(w, sink, &l);
	free(l.is);
	if (!ok)
		free(l.ended);
	return ok ? l.ended : NULL;
}
