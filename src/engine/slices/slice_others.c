// SPDX-License-Identifier: MIT
//
// Which coroutine a slice belongs to, and which wait meanwhile: coroutines that wait for what only
// that thread polls, or that it made and has not run yet. All stations are searched, so this is
// done once for a slice, and only if it lasts.
#include "ctp/late.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/inspect/inspect.h"
#include "engine/slices/slice.h"

static bool is_served(const struct slice_served *v, int32_t set)
{
	if (set < 0)
		return v->n || v->any || v->polls;
	for (unsigned i = 0; i < v->n; i++)
		if (v->sets[i] == set)
			return true;
	return v->any;
}

// Does it wait for a live descriptor that some loop polls? *set: which one; -1: by poll or select.
static bool waits_on(const struct ctp_region *r, const struct ctp_state *st, int32_t *set)
{
	for (uint32_t i = 0; i < st->nwaits && i < CTP_WAITS; i++) {
		const struct ctp_wait *w = &st->waits[i];
		struct ctp_fd f;
		if (w->fd < 0 || !inspect_fd(r, (uint64_t)w->fd, &f) || f.life != CTP_FD_OPEN ||
		    f.gen != w->gen)
			continue;
		*set = w->epfd >= 0 ? w->epfd : f.reg_epfd;
		if (*set >= 0 || f.polled)
			return true;
	}
	return false;
}

static void count_other(const struct ctp_region *r, const struct ctp_state *st, const struct slice_served *v,
			struct slice *l)
{
	int32_t set = -1;
	bool other;
	if (st->entity != CTP_COROUTINE || st->id == l->id)
		return;
	if (st->life == CTP_CREATED)
		other = st->thread == l->slot;
	else
		other = st->life == CTP_SUSPENDED && waits_on(r, st, &set);
	if (!other)
		return;
	l->by_set += set >= 0;
	if (is_served(v, set))
		l->served++;
	else
		l->others++;
}

uint64_t slice_find(const struct ctp_region *r, const struct slice_served *v, struct slice *l)
{
	struct ctp_walk w = ctp_walk_states(r);
	uint64_t since = 0;
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *at = &r->states[i];
		struct ctp_state st;
		uint8_t life = at->life;
		bool own = at->id == l->id;
		if (ctp_load32(&at->owner) != CTP_OWNER_GUEST ||
		    (!own && life != CTP_CREATED && life != CTP_SUSPENDED) || !ctp_state_read(at, &st))
			continue;
		count_other(r, &st, v, l);
		if (!own || st.id != l->id || st.entity != CTP_COROUTINE || st.life != CTP_RUNNING)
			continue;
		since = CTP_TIME_IS_READ(st.since) ? st.since : 0; // which of a window was long is not known
		l->station = (uint32_t)i;
		l->changes = st.changes;
		l->went_on = st.stack;
	}
	return since;
}
