// SPDX-License-Identifier: MIT
//
// A slice begins and ends with one call of the sink each, in order of time. A track's slices do not overlap:
// a state ends before the next one begins, and what is lost ends at the last time that is known of it.
#include "analyze/history/tracks_slices.h"

void tracks_slices_begin_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			       enum tracks_what what, uint64_t ns)
{
	struct tracks_slice s = {
		.what = what, .thread = th, .coroutine = c, .since_ns = ns, .site = c->site, .fd = -1};
	c->state = what;
	c->since_ns = c->last_ns = ns;
	t->sink->begins(t->arg, &s);
}

void tracks_slices_end_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
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
void tracks_slices_lose_state(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			      uint64_t ns)
{
	if (!c->state)
		return;
	tracks_slices_end_state(t, th, c, c->last_ns, TRACKS_CUT, -1, 0);
	tracks_slices_begin_state(t, th, c, TRACKS_LOST, c->last_ns);
	tracks_slices_end_state(t, th, c, ns, TRACKS_ENDED, -1, 0);
}

void tracks_slices_begin_run(struct tracks *t, struct tracks_thread *th, uint64_t id,
			     struct tracks_coroutine *c, uint64_t ns)
{
	th->runs = true;
	th->id = id;
	th->runner = c ? (uint32_t)(c - t->coroutines) : TRACKS_NO_ROW;
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

void tracks_slices_end_run(struct tracks *t, struct tracks_thread *th, struct tracks_coroutine *c,
			   uint64_t ns, enum tracks_end how, const struct tracks_site *site)
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
void tracks_slices_whole(struct tracks *t, const struct tracks_thread *th, enum tracks_what what,
			 uint64_t since, uint64_t ns)
{
	struct tracks_slice s = {.what = what, .thread = th, .since_ns = since, .ns = ns, .fd = -1};
	t->sink->begins(t->arg, &s);
	t->sink->ends(t->arg, &s);
}

// Who ran here was not who leaves now, or left in between.
void tracks_slices_lose_run(struct tracks *t, struct tracks_thread *th, struct tracks_coroutine *c,
			    uint64_t ns)
{
	uint64_t known = th->last_ns;
	if (!th->runs)
		return;
	if (c)
		c->last_ns = c->last_ns > known ? c->last_ns : known;
	tracks_slices_end_run(t, th, c, known, TRACKS_CUT, NULL);
	tracks_slices_whole(t, th, TRACKS_UNKNOWN, known, ns);
	th->last_ns = ns;
}

void tracks_slices_mark(struct tracks *t, const struct tracks_thread *th, struct tracks_coroutine *c,
			enum tracks_mark_kind kind, const char *text, uint64_t ns)
{
	struct tracks_mark m = {.kind = kind, .thread = th, .coroutine = c, .text = text, .ns = ns, .fd = -1};
	t->sink->mark(t->arg, &m);
}
