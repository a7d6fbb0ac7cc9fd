// SPDX-License-Identifier: MIT
//
// A wait counts if the history has both of its ends.
#include "analyze/facts/longest_wait.h"

#include <errno.h>

#include "base/search.h"
#include "trace/transitions.h"

struct looking {
	struct longest_wait *v;
	size_t n;
};

static int sink(void *arg, const struct transition *m)
{
	const struct looking *l = arg;
	const struct ctp_merge_entity *to = m->to;
	if (m->kind != CTP_EV_SWITCH || !to || !to->suspended || m->to_gap || !to->since_ns ||
	    m->ns <= to->since_ns)
		return 0;
	size_t i = FIRST_NOT(l->n, k, l->v[k].id < to->id);
	uint64_t span = m->ns - to->since_ns;
	if (i < l->n && l->v[i].id == to->id && span > l->v[i].span_ns) {
		l->v[i].span_ns = span;
		l->v[i].stack = to->stack;
	}
	return 0;
}

int longest_wait_find(const struct world *w, struct longest_wait *v, size_t n)
{
	struct looking l = {v, n};
	if (!n || w->nimages != 1 || w->form != WORLD_DIRECTORY)
		return 0;
	int r = transitions_walk(w, sink, &l);
	return r == -ESPIPE ? 0 : r;
}
