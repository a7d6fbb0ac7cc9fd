// SPDX-License-Identifier: MIT
//
// Makes slices of transitions. A thread's switches say what runs on it; all records that name a
// coroutine say its state. Where numbers show that records of a coroutine were lost, its slice
// ends at the last one that is known, and a slice of lost records lasts up to the next.
#include "analyze/history/tracks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/grow.h"
#include "ctp/words.h"
#include "trace/transitions.h"

#define NO_ROW UINT32_MAX

static uint64_t later(uint64_t a, uint64_t b)
{
	return a > b ? a : b;
}

// ------------------------------------------------------- threads, coroutines

static uint64_t pid_of(const struct tracks *t, const struct transition *m)
{
	const struct world *w = t->report->world;
	uint64_t pid = m->image ? m->image->pid : w->nimages ? w->images[0].pid : 0;
	return pid ? pid : t->nthreads ? t->threads[0]->tid : m->tid;
}

// NULL: no memory.
static struct tracks_thread *thread_of(struct tracks *t, const struct transition *m)
{
	bool stations = m->kind == CTP_EV_STATION;
	for (size_t i = 0; i < t->nthreads; i++)
		if (t->threads[i]->tid == m->tid && t->threads[i]->stations == stations)
			return t->threads[i];
	struct tracks_thread *n = calloc(1, sizeof(*n));
	if (!n || GROW(t->threads, t->nthreads, t->threads_capacity)) {
		free(n);
		return NULL;
	}
	*n = (struct tracks_thread){
		.tid = m->tid, .pid = pid_of(t, m), .row = (uint32_t)t->nthreads, .stations = stations};
	return t->threads[t->nthreads++] = n;
}

// A coroutine's row, a new one if need be. NO_ROW: it is a thread's own stack, or nobody. 0 or -ENOMEM.
static int row_of(struct tracks *t, const struct transition *m, struct ctp_merge_entity *e, uint64_t entry,
		  uint32_t *row)
{
	*row = NO_ROW;
	if (!e || e->native)
		return 0;
	if (e->mine) {
		*row = (uint32_t)e->mine - 1;
		return 0;
	}
	if (t->nunused) {
		*row = t->unused[--t->nunused];
	} else {
		if (t->ncoroutines >= NO_ROW - 1 ||
		    GROW(t->coroutines, t->ncoroutines, t->coroutines_capacity))
			return -ENOMEM;
		*row = (uint32_t)t->ncoroutines++;
	}
	e->mine = (uint64_t)*row + 1;
	t->coroutines[*row] = (struct tracks_coroutine){
		.id = e->id,
		.pid = pid_of(t, m),
		.image = m->image,
		.called = tracks_names_called(&t->names, t->report, m->image, e->id, entry)};
	return 0;
}

static struct tracks_coroutine *at_row(struct tracks *t, uint32_t row)
{
	return row == NO_ROW ? NULL : &t->coroutines[row];
}

static int free_row(struct tracks *t, struct ctp_merge_entity *e)
{
	int r = GROW(t->unused, t->nunused, t->unused_capacity);
	if (!r) {
		t->unused[t->nunused++] = (uint32_t)e->mine - 1;
		t->coroutines[e->mine - 1].id = 0;
		e->mine = 0;
	}
	return r;
}

// ------------------------------------------------------------------- slices

static void begin_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			enum tracks_what what, uint64_t ns)
{
	struct tracks_slice s = {
		.what = what, .thread = th, .coroutine = c, .since_ns = ns, .site = c->site, .fd = -1};
	c->state = what;
	c->since_ns = c->last_ns = ns;
	t->sink->begins(t->arg, &s);
}

static void end_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
		      uint64_t ns, enum tracks_end how, int32_t fd, uint32_t gen)
{
	struct tracks_slice s = {.what = c->state,
				 .how = how,
				 .thread = th,
				 .coroutine = c,
				 .since_ns = c->since_ns,
				 .ns = ns,
				 .site = c->site,
				 .fd = fd,
				 .gen = gen};
	if (c->state)
		t->sink->ends(t->arg, &s);
	c->state = TRACKS_NOTHING;
	c->last_ns = ns;
}

// From the last that is known of it up to now it is not known in which state it was.
static void lose_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
		       uint64_t ns)
{
	if (!c->state)
		return;
	end_state(t, th, c, c->last_ns, TRACKS_CUT, -1, 0);
	begin_state(t, th, c, TRACKS_LOST, c->last_ns);
	end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
}

static void begin_run(struct tracks *t, struct tracks_thread *th, uint64_t id, struct tracks_coroutine *c,
		      uint64_t ns)
{
	th->runs = true;
	th->id = id;
	th->runner = c ? (uint32_t)(c - t->coroutines) : NO_ROW;
	th->since_ns = th->last_ns = ns;
	th->flow = c ? c->flow : 0;
	if (c)
		c->flow = 0;
	struct tracks_slice s = {.what = TRACKS_RUNS,
				 .thread = th,
				 .coroutine = c,
				 .id = id,
				 .since_ns = ns,
				 .flow = th->flow,
				 .fd = -1};
	t->sink->begins(t->arg, &s);
}

static void end_run(struct tracks *t, struct tracks_thread *th, struct tracks_coroutine *c, uint64_t ns,
		    enum tracks_end how, const struct tracks_site *site)
{
	struct tracks_slice s = {.what = TRACKS_RUNS,
				 .how = how,
				 .thread = th,
				 .coroutine = c,
				 .id = th->id,
				 .since_ns = th->since_ns,
				 .ns = ns,
				 .flow = th->flow,
				 .site = site,
				 .fd = -1};
	if (th->runs)
		t->sink->ends(t->arg, &s);
	th->runs = false;
	th->last_ns = ns;
}

// A slice on the thread's track that is known as a whole.
static void emit_whole(struct tracks *t, const struct tracks_thread *th, enum tracks_what what,
		       uint64_t since, uint64_t ns)
{
	struct tracks_slice s = {.what = what, .thread = th, .since_ns = since, .ns = ns, .fd = -1};
	t->sink->begins(t->arg, &s);
	t->sink->ends(t->arg, &s);
}

// Who ran here was not who leaves now, or left in between.
static void lose_run(struct tracks *t, struct tracks_thread *th, struct tracks_coroutine *c, uint64_t ns)
{
	uint64_t known = th->last_ns;
	if (!th->runs)
		return;
	if (c)
		c->last_ns = later(c->last_ns, known);
	end_run(t, th, c, known, TRACKS_CUT, NULL);
	emit_whole(t, th, TRACKS_UNKNOWN, known, ns);
	th->last_ns = ns;
}

static void mark(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
		 enum tracks_mark_kind kind, const char *text, uint64_t ns)
{
	struct tracks_mark m = {.kind = kind, .thread = th, .coroutine = c, .text = text, .ns = ns, .fd = -1};
	t->sink->mark(t->arg, &m);
}

// -------------------------------------------------------------------- moves

// Which coroutine runs on it, as far as is known, if its row is still its own.
static struct tracks_coroutine *runner(struct tracks *t, const struct tracks_thread *th)
{
	struct tracks_coroutine *c = th->runs ? at_row(t, th->runner) : NULL;
	return c && c->id == th->id ? c : NULL;
}

static int suspends(struct tracks *t, const struct transition *m, struct tracks_thread *th,
		    struct tracks_coroutine *c, uint64_t ns)
{
	bool gone = m->how == CTP_HOW_GONE || m->how == CTP_HOW_RETURN;
	if (m->from_gap || c->state != TRACKS_RUNNING)
		lose_state(t, th, c, ns);
	end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
	c->n = m->from_n;
	if (!gone) {
		c->site = tracks_names_site(&t->names, t->report, m->image, m->stack, m->pc);
		begin_state(t, th, c, TRACKS_SUSPENDED, ns);
		return c->site ? 0 : -ENOMEM;
	}
	mark(t, th, c, TRACKS_DONE, m->how == CTP_HOW_RETURN ? "returned" : "left for good", ns);
	return free_row(t, m->from);
}

static void resumes(struct tracks *t, const struct transition *m, struct tracks_thread *th,
		    struct tracks_coroutine *c, uint64_t ns)
{
	if (m->to_gap || c->state == TRACKS_RUNNING)
		lose_state(t, th, c, ns);
	end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
	c->n = m->to_n;
	begin_state(t, th, c, TRACKS_RUNNING, ns);
}

static int take_switch(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	uint32_t a, b;
	int r = row_of(t, m, m->from, m->from ? m->from->entry : 0, &a);
	if (!r)
		r = row_of(t, m, m->to, m->to ? m->to->entry : 0, &b);
	if (r)
		return r;
	struct tracks_coroutine *from = at_row(t, a), *to = at_row(t, b);
	uint64_t ns = later(m->ns, th->last_ns);
	ns = from ? later(ns, from->last_ns) : ns;
	ns = to ? later(ns, to->last_ns) : ns;
	if (m->from && th->runs && th->id == m->from->id && !m->from_gap)
		end_run(t, th, from, ns, TRACKS_ENDED,
			tracks_names_site(&t->names, t->report, m->image, m->stack, m->pc));
	else
		lose_run(t, th, runner(t, th), ns);
	if (m->from && m->from->native)
		th->native = m->from->id;
	if (from)
		r = suspends(t, m, th, from, ns);
	if (to)
		resumes(t, m, th, to, ns);
	if (m->to)
		begin_run(t, th, m->to->id, to, ns);
	th->last_ns = ns;
	t->switches++;
	return r;
}

static int take_create(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	uint32_t row;
	int r = row_of(t, m, m->from, m->value, &row);
	struct tracks_coroutine *c = r ? NULL : at_row(t, row);
	if (!c)
		return r;
	uint64_t ns = th->last_ns = later(later(m->ns, th->last_ns), c->last_ns);
	c->flow = ++t->flows;
	struct tracks_mark k = {
		.kind = TRACKS_CREATES, .thread = th, .coroutine = c, .ns = ns, .flow = c->flow, .fd = -1};
	t->sink->mark(t->arg, &k);
	begin_state(t, th, c, TRACKS_CREATED, ns);
	return 0;
}

static int take_end(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	if (!m->from || !m->from->mine)
		return 0;
	struct tracks_coroutine *c = &t->coroutines[m->from->mine - 1];
	uint64_t ns = later(later(m->ns, th->last_ns), c->last_ns);
	if (th->runs && th->id == c->id)
		end_run(t, th, c, ns, TRACKS_ENDED, NULL);
	end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
	mark(t, th, c, TRACKS_DONE, m->kind == CTP_EV_FINISH ? "ended" : "destroyed", ns);
	th->last_ns = ns;
	return free_row(t, m->from);
}

// An event came that leads to a coroutine: from now on it waits for its turn alone.
static void take_ready(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	struct tracks_coroutine *c = m->from && m->from->mine ? &t->coroutines[m->from->mine - 1] : NULL;
	if (!c || c->state != TRACKS_SUSPENDED)
		return;
	uint64_t ns = th->last_ns = later(later(m->ns, th->last_ns), c->last_ns);
	int32_t fd = (int32_t)(uint32_t)m->value;
	uint32_t gen = (uint32_t)(m->value >> 32);
	c->flow = ++t->flows;
	struct tracks_mark k = {.kind = TRACKS_WAKES,
				.thread = th,
				.coroutine = c,
				.ns = ns,
				.flow = c->flow,
				.fd = fd,
				.gen = gen};
	t->sink->mark(t->arg, &k);
	end_state(t, th, c, ns, TRACKS_ENDED, fd, gen);
	begin_state(t, th, c, TRACKS_READY, ns);
}

static void take_slept(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	uint64_t ticks = m->merged ? m->merged->event.time : 0, ns = later(m->ns, th->last_ns);
	if (ticks > m->value)
		emit_whole(t, th, TRACKS_SLEEPS,
			   later(world_ns(t->report->world, ticks - m->value), th->last_ns), ns);
	th->last_ns = ns;
}

static void take_thread(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	uint64_t ns = later(m->ns, th->last_ns);
	if (th->runs) // another thread had this number before
		end_run(t, th, runner(t, th), th->last_ns, TRACKS_ENDED, NULL);
	th->native = m->a;
	begin_run(t, th, m->a, NULL, ns);
}

static void take_other(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	char name[32], text[64];
	uint64_t ns = th->last_ns = later(m->ns, th->last_ns);
	if (m->kind == CTP_EV_SIGNAL) {
		snprintf(text, sizeof(text), "%s taken", words_signal((int)m->value, name, sizeof(name)));
		mark(t, th, NULL, TRACKS_SIGNAL, text, ns);
	} else {
		mark(t, th, NULL, TRACKS_EXIT, "the exit begins", ns);
	}
}

// An event of the program's own. Who signalled it runs still.
static void take_event(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	if (!m->event || !m->event->class) // of a class that a damaged trace does not have
		return;
	const struct program_class *k = m->event->class;
	struct tracks_coroutine *c = m->from && m->from->mine ? &t->coroutines[m->from->mine - 1] : NULL;
	char text[128];
	snprintf(text, sizeof(text), "%s:%s", k->provider, k->name);
	struct tracks_mark e = {.kind = TRACKS_EVENT,
				.thread = th,
				.coroutine = c,
				.text = text,
				.event = m->event,
				.ns = later(later(m->ns, th->last_ns), c ? c->last_ns : 0),
				.fd = -1};
	th->last_ns = th->runs ? e.ns : th->last_ns;
	t->sink->mark(t->arg, &e);
}

static int take(void *arg, const struct transition *m)
{
	struct tracks *t = arg;
	struct tracks_thread *th = thread_of(t, m);
	int r = th ? 0 : -ENOMEM;
	if (r)
		return r;
	switch (m->kind) {
	case CTP_EV_SWITCH:
	case CTP_EV_STATION:
		r = take_switch(t, m, th);
		break;
	case CTP_EV_CREATE:
		r = take_create(t, m, th);
		break;
	case CTP_EV_FINISH:
	case CTP_EV_DESTROY:
		r = take_end(t, m, th);
		break;
	case CTP_EV_THREAD:
		take_thread(t, m, th);
		break;
	case CTP_EV_READY:
		take_ready(t, m, th);
		break;
	case CTP_EV_SLEPT:
		take_slept(t, m, th);
		break;
	case CTP_EV_USER:
		take_event(t, m, th);
		break;
	case CTP_EV_SIGNAL:
	case CTP_EV_EXIT:
		take_other(t, m, th);
		break;
	default: // who does something runs still
		th->last_ns = th->runs && m->a == th->id ? later(m->ns, th->last_ns) : th->last_ns;
	}
	t->last_ns = later(t->last_ns, th->last_ns);
	return r;
}

// ------------------------------------------------------------------ the end

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
		lose_state(t, NULL, c, ns);
	else
		end_state(t, NULL, c, ns, TRACKS_STILL, waits ? s->waits[0].fd : -1,
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

static void finish(struct tracks *t)
{
	for (size_t i = 0; i < t->nthreads; i++) {
		struct tracks_thread *th = t->threads[i];
		const struct tracks_coroutine *c = runner(t, th);
		bool ended = thread_ended(t, th);
		uint64_t ns = ended ? th->last_ns : later(end_of(t, c ? c->image : NULL), th->last_ns);
		end_run(t, th, runner(t, th), ns, ended ? TRACKS_CUT : TRACKS_STILL, NULL);
	}
	for (size_t i = 0; i < t->ncoroutines; i++)
		if (t->coroutines[i].id)
			still(t, &t->coroutines[i]);
}

// ----------------------------------------------------------------- the walk

int tracks_walk(struct tracks *t, const struct report *r, const struct tracks_sink *sink, void *arg)
{
	*t = (struct tracks){.report = r, .sink = sink, .arg = arg};
	int e = transitions_walk(r->world, take, t);
	if (!e)
		finish(t);
	return e ? e : tracks_tell_findings(t);
}

void tracks_deinit(struct tracks *t)
{
	for (size_t i = 0; i < t->nthreads; i++)
		free(t->threads[i]);
	free(t->threads);
	free(t->coroutines);
	free(t->unused);
	tracks_names_deinit(&t->names);
	*t = (struct tracks){0};
}
