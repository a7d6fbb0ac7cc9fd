// SPDX-License-Identifier: MIT
//
// One walk over the history. Which coroutines get a lane is known before: those in findings,
// and the busiest ones of the last tables. All others are in their thread's lane and in their
// group. Memory is bounded by the bins and by a largest number of slices.
#include "analyze/history/timeline.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/grow.h"
#include "trace/transitions.h"

// What is kept of an entity (struct ctp_merge_entity, mine): life + 1 : 2 | lane + 1 : 30 | group + 1 : 32.
#define MINE_LIFE 3u
#define NO_LANE 0x3fffffffu

// ------------------------------------------------------------------- lanes

static uint64_t lane_key(const struct image *m, uint64_t id)
{
	return (m ? (uint64_t)m->index + 1 : 0) << 48 | id;
}

static int add_lane(struct timeline *t, const struct image *m, uint64_t id)
{
	if (t->nlanes == TIMELINE_LANES || idmap_get(&t->by_lane, lane_key(m, id)) != IDMAP_NONE)
		return 0;
	struct timeline_lane *l = &t->lanes[t->nlanes];
	*l = (struct timeline_lane){.image = m, .id = id};
	bins_init(&l->bins, t->span_ns, 2048, 2);
	return idmap_set(&t->by_lane, lane_key(m, id), t->nlanes++);
}

struct busy {
	const struct image *image;
	const struct ctp_state *state;
};

static int by_changes(const void *a, const void *b)
{
	const struct ctp_state *x = ((const struct busy *)a)->state, *y = ((const struct busy *)b)->state;
	return x->changes != y->changes ? (x->changes < y->changes ? 1 : -1) :
					  (x->id > y->id) - (x->id < y->id);
}

// Half of the lanes are for findings: the first coroutine of each, and then their others.
static int choose_found(struct timeline *t, const struct report *r)
{
	int e = 0;
	for (size_t k = 0; k < 8; k++)
		for (size_t i = 0; !e && i < r->nfindings && t->nlanes < TIMELINE_LANES / 2; i++) {
			const struct finding *f = &r->findings[i];
			const struct image *m = f->cases[0]->about.image;
			uint64_t actor = f->cases[0]->actor.id;
			const struct ctp_state *s = actor ? image_entity(m, actor) : NULL;
			if (k < f->n)
				e = add_lane(t, f->cases[k]->about.image, f->cases[k]->id);
			if (!e && !k && s && s->entity == CTP_COROUTINE)
				e = add_lane(t, m, actor);
		}
	return e;
}

static int choose_busy(struct timeline *t, const struct world *w)
{
	struct busy most[TIMELINE_LANES];
	size_t n = 0, least = 0;
	for (size_t i = 0; i < w->nimages; i++) {
		const struct image *m = &w->images[i];
		for (size_t k = 0; m->has_tables && k < m->stations.n; k++) {
			const struct ctp_state *s = image_state(m, k);
			if (s->entity != CTP_COROUTINE || !s->runs)
				continue;
			if (n == TIMELINE_LANES && s->changes <= most[least].state->changes)
				continue;
			most[n < TIMELINE_LANES ? n : least] = (struct busy){m, s};
			n += n < TIMELINE_LANES;
			least = 0;
			for (size_t j = 1; n == TIMELINE_LANES && j < n; j++)
				least = most[j].state->changes < most[least].state->changes ? j : least;
		}
		t->chosen |= m->has_tables;
	}
	int e = 0;
	qsort(most, n, sizeof(*most), by_changes);
	for (size_t i = 0; !e && i < n; i++)
		e = add_lane(t, most[i].image, most[i].state->id);
	return e;
}

static struct timeline_lane *lane_of(struct timeline *t, const struct transition *m,
				     struct ctp_merge_entity *e)
{
	uint32_t known = e->mine >> 2 & NO_LANE;
	if (!known) {
		if (!t->chosen && !e->native)
			add_lane(t, m->image, e->id);
		uint32_t at = e->native ? IDMAP_NONE : idmap_get(&t->by_lane, lane_key(m->image, e->id));
		known = at == IDMAP_NONE ? NO_LANE : at + 1;
		e->mine |= (uint64_t)known << 2;
	}
	return known == NO_LANE ? NULL : &t->lanes[known - 1];
}

// ------------------------------------------------------------------- groups

static void group_until(struct timeline *t, struct timeline_group *g, uint64_t now)
{
	double width = (double)t->span_ns / TIMELINE_GROUP_BINS;
	while (g->last < now) { // in whole numbers: a double has too few digits for a span of months, and its
				// bins no end then
		unsigned __int128 bin = (unsigned __int128)g->last * TIMELINE_GROUP_BINS / t->span_ns;
		bin = bin < TIMELINE_GROUP_BINS ? bin : TIMELINE_GROUP_BINS - 1;
		uint64_t end =
			(uint64_t)(((bin + 1) * t->span_ns + TIMELINE_GROUP_BINS - 1) / TIMELINE_GROUP_BINS);
		uint64_t to = bin + 1 < TIMELINE_GROUP_BINS && end < now ? end : now;
		for (unsigned k = 0; k < LIVES; k++)
			g->bins[(size_t)bin * LIVES + k] +=
				(double)g->now[k] * (double)(to - g->last) / width;
		g->last = to;
	}
}

static struct timeline_group *group_of(struct timeline *t, const struct transition *m,
				       struct ctp_merge_entity *e)
{
	uint32_t at = (uint32_t)(e->mine >> 32);
	if (at)
		return &t->groups[at - 1];
	uint64_t entry = m->kind == CTP_EV_CREATE ? m->value : e->entry; // the walk knows it from then on
	uint64_t key = entry ^ (m->image ? (uint64_t)m->image->index + 1 : 0) << 52;
	uint32_t row = idmap_get(&t->by_group, key);
	if (row == IDMAP_NONE && t->ngroups > TIMELINE_GROUPS)
		row = TIMELINE_GROUPS;
	if (row == IDMAP_NONE) {
		row = (uint32_t)t->ngroups;
		bool others = row == TIMELINE_GROUPS;
		double *bins = GROW(t->groups, t->ngroups, t->groups_capacity) ?
				       NULL :
				       calloc(TIMELINE_GROUP_BINS * LIVES, sizeof(*bins));
		if (!bins || idmap_set(&t->by_group, key, row)) {
			free(bins);
			return NULL;
		}
		t->groups[t->ngroups++] = (struct timeline_group){
			.image = others ? NULL : m->image, .entry = others ? 0 : entry, .bins = bins};
	}
	e->mine |= (uint64_t)(row + 1) << 32;
	return &t->groups[row];
}

// It lives so from now on; LIVES: not at all any more.
static int live(struct timeline *t, const struct transition *m, struct ctp_merge_entity *e, unsigned life,
		uint64_t now)
{
	unsigned was = (unsigned)(e->mine & MINE_LIFE);
	struct timeline_group *g = group_of(t, m, e);
	if (!g)
		return -ENOMEM;
	group_until(t, g, now);
	if (was)
		g->now[was - 1]--;
	else if (life != LIVES)
		g->made++;
	if (life != LIVES)
		g->now[life]++;
	e->mine = (e->mine & ~(uint64_t)MINE_LIFE) | (life == LIVES ? 0 : life + 1);
	uint64_t all = g->now[0] + g->now[1] + g->now[2];
	g->peak = all > g->peak ? all : g->peak;
	return 0;
}

// ------------------------------------------------------------------ threads

static unsigned finest(const struct world *w)
{
	return w->threads <= 4 ? 16384 : w->threads <= 32 ? 4096 : 1024;
}

static struct timeline_thread *thread_of(struct timeline *t, const struct world *w,
					 const struct transition *m)
{
	uint64_t key = (uint64_t)m->tid ^ (m->image ? (uint64_t)m->image->index + 1 : 0) << 40;
	uint32_t at = idmap_get(&t->by_thread, key);
	if (at != IDMAP_NONE)
		return &t->threads[at];
	if (GROW(t->threads, t->nthreads, t->threads_capacity) ||
	    idmap_set(&t->by_thread, key, (uint32_t)t->nthreads))
		return NULL;
	struct timeline_thread *r = &t->threads[t->nthreads++];
	uint64_t now = m->ns > t->start_ns ? m->ns - t->start_ns : 0;
	*r = (struct timeline_thread){.image = m->image, .tid = m->tid, .first = now, .last = now};
	bins_init(&r->bins, t->span_ns, finest(w), BINS_LEVELS);
	return r;
}

static void forget_slices(struct timeline *t)
{
	for (size_t i = 0; i < t->nthreads; i++) {
		free(t->threads[i].slices);
		t->threads[i].slices = NULL;
		t->threads[i].n = t->threads[i].capacity = 0;
	}
	t->every_slice = false;
}

static int slice(struct timeline *t, struct timeline_thread *r, uint64_t id, uint64_t ns, uint64_t ready)
{
	if (!t->every_slice || !ns)
		return 0;
	if (r->n && r->slices[r->n - 1].id == id) {
		r->slices[r->n - 1].ns += ns;
		return 0;
	}
	if (t->nslices++ >= TIMELINE_SLICES) {
		forget_slices(t);
		return 0;
	}
	if (GROW(r->slices, r->n, r->capacity))
		return -ENOMEM;
	r->slices[r->n++] = (struct timeline_slice){id, ns, ready};
	return 0;
}

// The thread has done what it did up to now; the last `asleep` ns of that it slept.
static int thread_until(struct timeline *t, struct timeline_thread *r, uint64_t now, uint64_t asleep)
{
	if (now <= r->last)
		return 0;
	uint64_t slept = now - r->last < asleep ? r->last : now - asleep;
	if (r->discovered)
		bins_add(&r->bins, r->native ? THREAD_NATIVE : THREAD_COROUTINE, r->native ? 0 : r->current,
			 r->last, slept);
	bins_add(&r->bins, THREAD_ASLEEP, 0, slept, now);
	int e = slice(t, r, r->native ? TIMELINE_NATIVE : r->current, slept - r->last, r->ready);
	e = e ? e : slice(t, r, 0, now - slept, 0);
	r->last = now;
	return e;
}

// -------------------------------------------------------------------- moves

static void lane_until(struct timeline_lane *l, enum timeline_lane_kind kind, uint64_t now)
{
	if (!l->begun) {
		l->begun = true;
		l->first = l->last = now;
	}
	if (now > l->last) {
		bins_add(&l->bins, kind, 0, l->last, now);
		l->last = now;
	}
}

static int suspends(struct timeline *t, const struct transition *m, uint64_t now)
{
	struct timeline_lane *l = lane_of(t, m, m->from);
	bool ends = m->how == CTP_HOW_GONE || m->how == CTP_HOW_RETURN;
	if (l) {
		lane_until(l, LANE_RUNS, now);
		l->running = false;
		l->begun = !ends;
	}
	return m->from->native ? 0 : live(t, m, m->from, ends ? LIVES : LIFE_SUSPENDED, now);
}

// For how long it has been ready to go on.
static uint64_t ready_for(const struct transition *m)
{
	return m->to && m->to->ready_ns && m->to->ready_ns < m->ns ? m->ns - m->to->ready_ns : 0;
}

static int resumes(struct timeline *t, const struct transition *m, uint64_t now)
{
	struct timeline_lane *l = lane_of(t, m, m->to);
	if (l) {
		uint64_t ready = ready_for(m);
		lane_until(l, LANE_WAITS, ready < now ? now - ready : 0);
		lane_until(l, LANE_READY, now);
		bins_transition(&l->bins, now);
		l->running = true;
		l->switches++;
	}
	return m->to->native ? 0 : live(t, m, m->to, LIFE_RUNNING, now);
}

static int switches(struct timeline *t, const struct world *w, const struct transition *m, uint64_t now)
{
	struct timeline_thread *r = thread_of(t, w, m);
	int e = r ? thread_until(t, r, now, 0) : -ENOMEM;
	if (!e && m->from)
		e = suspends(t, m, now);
	if (!e && m->to)
		e = resumes(t, m, now);
	if (e)
		return e;
	t->gaps += m->from_gap + m->to_gap;
	r->discovered = m->to != NULL;
	r->current = m->to ? m->to->id : 0;
	r->native = m->to && m->to->native;
	r->ready = ready_for(m);
	if (m->to) {
		bins_transition(&r->bins, now);
		r->switches++;
		t->switches++;
	}
	return 0;
}

// A thread, on its own stack. It may have got the number of one that has ended: nobody ran in between.
static int begins(struct timeline *t, const struct world *w, const struct transition *m, uint64_t now)
{
	struct timeline_thread *r = thread_of(t, w, m);
	int e = r ? slice(t, r, 0, now > r->last ? now - r->last : 0, 0) : -ENOMEM;
	if (e)
		return e;
	r->last = now > r->last ? now : r->last;
	r->discovered = r->native = true;
	r->current = m->a;
	return 0;
}

// It comes back from a wait of its loop, in which it was for so many ticks.
static int woke(struct timeline *t, const struct world *w, const struct transition *m, uint64_t now)
{
	struct timeline_thread *r = thread_of(t, w, m);
	uint64_t at = m->merged ? m->merged->event.time : 0;
	return r ? thread_until(t, r, now, at > m->value ? m->ns - world_ns(w, at - m->value) : 0) : -ENOMEM;
}

static int signalled(struct timeline *t, const struct transition *m, uint64_t now)
{
	const struct program_class *k = m->event->class;
	char says[600], text[800];
	if (t->nevents == TIMELINE_EVENTS) {
		t->events_left_out++;
		return 0;
	}
	program_event_text(m->event, says, sizeof(says));
	snprintf(text, sizeof(text), "%s:%s %s", k->provider, k->name, says);
	if (GROW(t->events, t->nevents, t->events_capacity) || !(t->events[t->nevents].text = strdup(text)))
		return -ENOMEM;
	struct timeline_event *e = &t->events[t->nevents++];
	e->image = m->image;
	e->ns = now;
	e->tid = m->tid;
	e->coroutine = m->event->coroutine;
	return 0;
}

struct walk {
	struct timeline *t;
	const struct world *w;
};

static int hear(void *arg, const struct transition *m)
{
	struct walk *k = arg;
	struct timeline *t = k->t;
	uint64_t now = m->ns > t->start_ns ? m->ns - t->start_ns : 0;
	if (!t->begun)
		t->first_ns = now;
	t->begun = true;
	switch (m->kind) {
	case CTP_EV_THREAD:
		return begins(t, k->w, m, now);
	case CTP_EV_USER:
		return signalled(t, m, now);
	case CTP_EV_SLEPT:
		return woke(t, k->w, m, now);
	case CTP_EV_SWITCH:
	case CTP_EV_STATION:
		return m->from || m->to ? switches(t, k->w, m, now) : 0;
	case CTP_EV_CREATE:
		return m->from && !(m->from->mine & MINE_LIFE) ? live(t, m, m->from, LIFE_CREATED, now) : 0;
	case CTP_EV_FINISH:
	case CTP_EV_DESTROY:
		if (m->from && !m->from->native) {
			struct timeline_lane *l = lane_of(t, m, m->from);
			if (l && l->begun)
				lane_until(l, m->kind == CTP_EV_FINISH ? LANE_RUNS : LANE_WAITS, now);
			if (l)
				l->begun = false;
			return live(t, m, m->from, LIVES, now);
		}
		return 0;
	default:
		return 0;
	}
}

// What was so at the last move was so until the last look, if the thread was still there; `asleep`: since
// when, if it slept then.
static bool thread_lives(const struct timeline *t, const struct world *w, const struct timeline_thread *r,
			 uint64_t *asleep)
{
	for (size_t i = 0; r->image && i < r->image->threads.n; i++) {
		const struct ctp_thread *e = table_row(&r->image->threads, i);
		if (e->tid != r->tid || e->life != CTP_THREAD_LIVE)
			continue;
		uint64_t since = world_ns(w, e->wait_since);
		*asleep = e->wait_seq & 1 && since > t->start_ns ? since - t->start_ns : UINT64_MAX;
		return !r->image->replaced;
	}
	return false;
}

// Up to when something is known of that process.
static uint64_t end_of(const struct timeline *t, const struct world *w, const struct image *m)
{
	uint64_t ns = m && m->snapshot_ns ? m->snapshot_ns : w->snapshot_ns;
	return ns > t->start_ns ? ns - t->start_ns : t->span_ns;
}

static int finish(struct timeline *t, const struct world *w)
{
	int e = 0;
	for (size_t i = 0; i < t->nthreads; i++) {
		uint64_t asleep, end = end_of(t, w, t->threads[i].image);
		if (!e && thread_lives(t, w, &t->threads[i], &asleep))
			e = thread_until(t, &t->threads[i], end, asleep < end ? end - asleep : 0);
		bins_end(&t->threads[i].bins);
		e = e ? e : t->threads[i].bins.error;
	}
	for (unsigned i = 0; i < t->nlanes; i++) {
		struct timeline_lane *l = &t->lanes[i];
		if (l->begun)
			lane_until(l, l->running ? LANE_RUNS : LANE_WAITS, end_of(t, w, l->image));
		bins_end(&l->bins);
		e = e ? e : l->bins.error;
	}
	for (size_t i = 0; i < t->ngroups; i++)
		group_until(t, &t->groups[i], end_of(t, w, t->groups[i].image));
	return e;
}

int timeline_make(struct timeline *t, const struct report *r)
{
	const struct world *w = r->world;
	*t = (struct timeline){
		.start_ns = w->start_ns, .span_ns = w->duration_ns ? w->duration_ns : 1, .every_slice = true};
	int e = choose_found(t, r);
	e = e ? e : choose_busy(t, w);
	e = e ? e : transitions_walk(w, hear, &(struct walk){t, w});
	if (e && e != -ENOMEM) {
		t->unread = e;
		e = 0;
	}
	return e ? e : finish(t, w);
}

void timeline_deinit(struct timeline *t)
{
	for (size_t i = 0; i < t->nthreads; i++) {
		bins_deinit(&t->threads[i].bins);
		free(t->threads[i].slices);
	}
	free(t->threads);
	for (unsigned i = 0; i < t->nlanes; i++)
		bins_deinit(&t->lanes[i].bins);
	for (size_t i = 0; i < t->ngroups; i++)
		free(t->groups[i].bins);
	free(t->groups);
	for (size_t i = 0; i < t->nevents; i++)
		free(t->events[i].text);
	free(t->events);
	idmap_deinit(&t->by_thread);
	idmap_deinit(&t->by_lane);
	idmap_deinit(&t->by_group);
	*t = (struct timeline){0};
}
