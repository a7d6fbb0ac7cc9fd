// SPDX-License-Identifier: MIT
//
// The slices that are open when the trace ends: up to the snapshot of their image, or to the last record. A
// coroutine of which the tables count more changes than the records is lost from there on.
#include "analyze/history/tracks_slices.h"

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// Up to when this image is known to have run.
static uint64_t end_of(const struct tracks *t, const struct image *m)
{
	const struct world *w = t->report->world;
	uint64_t ns = m && m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns;
	for (size_t i = 0; m && m->replaced && i < w->nimages; i++)
		if (w->images[i].process == m->process && w->images[i].index > m->index)
			return world_ns(w, w->images[i].ext.attached);
	return later(ns, t->last_ns);
}

static void still(struct tracks *t, struct tracks_coroutine *c)
{
	const struct ctp_state *s = c->image && c->image->has_tables ? image_entity(c->image, c->id) : NULL;
	uint64_t ns = later(end_of(t, c->image), c->last_ns);
	bool waits = s && s->life == CTP_SUSPENDED && c->state == TRACKS_SUSPENDED && image_nwaits(s);
	if (c->image && c->image->has_tables && (!s || s->changes > c->n))
		tracks_slices_lose_state(t, NULL, c, ns);
	else
		tracks_slices_end_state(t, NULL, c, ns, TRACKS_STILL, waits ? s->waits[0].fd : -1,
					waits ? s->waits[0].gen : 0);
}

// Whether the last tables say that it ended.
static bool thread_ended(const struct tracks *t, const struct tracks_thread *th)
{
	const struct world *w = t->report->world;
	bool known = false;
	for (size_t i = 0; i < w->nimages; i++) {
		const struct image *m = &w->images[i];
		known |= m->pid == th->pid && m->has_tables;
		for (size_t k = 0; m->pid == th->pid && k < m->threads.n; k++) {
			const struct ctp_thread *row = table_row(&m->threads, k);
			if (row->tid == th->tid && row->native == th->native && row->life == CTP_THREAD_LIVE)
				return false;
		}
	}
	return known && !th->stations;
}

void tracks_end_all(struct tracks *t)
{
	for (size_t i = 0; i < t->nthreads; i++) {
		struct tracks_thread *th = t->threads[i];
		const struct tracks_coroutine *c = tracks_runner(t, th);
		bool ended = thread_ended(t, th);
		uint64_t ns = ended ? th->last_ns : later(end_of(t, c ? c->image : NULL), th->last_ns);
		tracks_slices_end_run(t, th, tracks_runner(t, th), ns, ended ? TRACKS_CUT : TRACKS_STILL,
				      NULL);
	}
	for (size_t i = 0; i < t->ncoroutines; i++)
		if (t->coroutines[i].id)
			still(t, &t->coroutines[i]);
}
