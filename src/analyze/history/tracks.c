// SPDX-License-Identifier: MIT
//
// Makes slices of transitions. A thread's switches say what runs on it; all records that name a
// coroutine say its state. Where numbers show that records of a coroutine were lost, its slice
// ends at the last one that is known, and a slice of lost records lasts up to the next.
#include "analyze/history/tracks.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "analyze/history/tracks_slices.h"
#include "base/grow.h"
#include "ctp/words.h"
#include "trace/transitions.h"

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

// A coroutine's row, a new one if need be. TRACKS_NO_ROW: it is a thread's own stack, or nobody. 0 or
// -ENOMEM.
static int row_of(struct tracks *t, const struct transition *m, struct ctp_merge_entity *e, uint64_t entry,
		  uint32_t *row)
{
	*row = TRACKS_NO_ROW;
	if (!e || e->native)
		return 0;
	if (e->mine) {
		*row = (uint32_t)e->mine - 1;
		return 0;
	}
	if (t->nunused) {
		*row = t->unused[--t->nunused];
	} else {
		if (t->ncoroutines >= TRACKS_NO_ROW - 1 ||
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
	return row == TRACKS_NO_ROW ? NULL : &t->coroutines[row];
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

// --------------------------------------------------------------- transitions

struct tracks_coroutine *tracks_runner(struct tracks *t, const struct tracks_thread *th)
{
	struct tracks_coroutine *c = th->runs ? at_row(t, th->runner) : NULL;
	return c && c->id == th->id ? c : NULL;
}

static int suspends(struct tracks *t, const struct transition *m, struct tracks_thread *th,
		    struct tracks_coroutine *c, uint64_t ns)
{
	bool gone = m->how == CTP_HOW_GONE || m->how == CTP_HOW_RETURN;
	if (m->from_gap || c->state != TRACKS_RUNNING)
		tracks_slices_lose_state(t, th, c, ns);
	tracks_slices_end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
	c->n = m->from_n;
	if (!gone) {
		c->site = tracks_names_site(&t->names, t->report, m->image, m->stack, m->pc);
		tracks_slices_begin_state(t, th, c, TRACKS_SUSPENDED, ns);
		return c->site ? 0 : -ENOMEM;
	}
	tracks_slices_mark(t, th, c, TRACKS_DONE, m->how == CTP_HOW_RETURN ? "returned" : "left for good",
			   ns);
	return free_row(t, m->from);
}

static void resumes(struct tracks *t, const struct transition *m, struct tracks_thread *th,
		    struct tracks_coroutine *c, uint64_t ns)
{
	if (m->to_gap || c->state == TRACKS_RUNNING)
		tracks_slices_lose_state(t, th, c, ns);
	tracks_slices_end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
	c->n = m->to_n;
	tracks_slices_begin_state(t, th, c, TRACKS_RUNNING, ns);
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
		tracks_slices_end_run(t, th, from, ns, TRACKS_ENDED,
				      tracks_names_site(&t->names, t->report, m->image, m->stack, m->pc));
	else
		tracks_slices_lose_run(t, th, tracks_runner(t, th), ns);
	if (m->from && m->from->native)
		th->native = m->from->id;
	if (from)
		r = suspends(t, m, th, from, ns);
	if (to)
		resumes(t, m, th, to, ns);
	if (m->to)
		tracks_slices_begin_run(t, th, m->to->id, to, ns);
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
	tracks_slices_begin_state(t, th, c, TRACKS_CREATED, ns);
	return 0;
}

static int take_end(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	if (!m->from || !m->from->mine)
		return 0;
	struct tracks_coroutine *c = &t->coroutines[m->from->mine - 1];
	uint64_t ns = later(later(m->ns, th->last_ns), c->last_ns);
	if (th->runs && th->id == c->id)
		tracks_slices_end_run(t, th, c, ns, TRACKS_ENDED, NULL);
	tracks_slices_end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
	tracks_slices_mark(t, th, c, TRACKS_DONE, m->kind == CTP_EV_FINISH ? "ended" : "destroyed", ns);
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
	tracks_slices_end_state(t, th, c, ns, TRACKS_ENDED, fd, gen);
	tracks_slices_begin_state(t, th, c, TRACKS_READY, ns);
}

static void take_slept(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	uint64_t ticks = m->merged ? m->merged->event.time : 0, ns = later(m->ns, th->last_ns);
	if (ticks > m->value)
		tracks_slices_whole(t, th, TRACKS_SLEEPS,
				    later(world_ns(t->report->world, ticks - m->value), th->last_ns), ns);
	th->last_ns = ns;
}

static void take_thread(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	uint64_t ns = later(m->ns, th->last_ns);
	if (th->runs) // another thread had this number before
		tracks_slices_end_run(t, th, tracks_runner(t, th), th->last_ns, TRACKS_ENDED, NULL);
	th->native = m->a;
	tracks_slices_begin_run(t, th, m->a, NULL, ns);
}

static void take_other(struct tracks *t, const struct transition *m, struct tracks_thread *th)
{
	char name[32], text[64];
	uint64_t ns = th->last_ns = later(m->ns, th->last_ns);
	if (m->kind == CTP_EV_SIGNAL) {
		snprintf(text, sizeof(text), "%s taken", words_signal((int)m->value, name, sizeof(name)));
		tracks_slices_mark(t, th, NULL, TRACKS_SIGNAL, text, ns);
	} else {
		tracks_slices_mark(t, th, NULL, TRACKS_EXIT, "the exit begins", ns);
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

// ----------------------------------------------------------------- the walk

int tracks_walk(struct tracks *t, const struct report *r, const struct tracks_sink *sink, void *arg)
{
	*t = (struct tracks){.report = r, .sink = sink, .arg = arg};
	int e = transitions_walk(r->world, take, t);
	if (!e)
		tracks_end_all(t);
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
