// SPDX-License-Identifier: MIT
//
// Reads sets.jsonl, which describes one inspection. A line that was cut off, or of a kind
// that this version does not know, is left out.
#include "trace/looks/set_looks.h"

#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/json.h"
#include "base/text.h"

static int64_t number(const json_t *o, const char *key)
{
	return json_integer_value(json_object_get(o, key));
}

static bool flag(const json_t *o, const char *key)
{
	return json_is_true(json_object_get(o, key));
}

static void word(const json_t *o, const char *key, char *to, size_t bytes)
{
	const char *text = json_string_value(json_object_get(o, key));
	snprintf(to, bytes, "%s", text ? text : "");
	text_clean(to);
}

static int add_stale(struct set_looks *s, const json_t *o)
{
	int r = GROW(s->stale, s->nstale, s->stale_room);
	if (!r)
		s->stale[s->nstale++] =
			(struct set_stale){number(o, "epfd"), number(o, "epgen"),          number(o, "fd"),
					   number(o, "gen"),  (uint64_t)number(o, "data"), flag(o, "twin")};
	return r;
}

static int add_shared(struct set_looks *s, const json_t *o)
{
	int r = GROW(s->shared, s->nshared, s->shared_room);
	if (!r)
		s->shared[s->nshared++] = (struct set_shared){
			number(o, "epfd"), number(o, "epgen"),         number(o, "fd"),
			number(o, "rows"), (uint64_t)number(o, "pid"), (uint64_t)number(o, "began_ns"),
			flag(o, "waits")};
	return r;
}

static int add_queue(struct set_looks *s, const json_t *o)
{
	int r = GROW(s->queues, s->nqueues, s->queues_room);
	if (r)
		return r;
	struct set_queue *q = &s->queues[s->nqueues++];
	*q = (struct set_queue){.coroutine = (uint64_t)number(o, "coroutine"),
				.changes = (uint64_t)number(o, "changes"),
				.fd = number(o, "fd"),
				.gen = number(o, "gen"),
				.out = flag(o, "out"),
				.ready = flag(o, "ready"),
				.led = flag(o, "led"),
				.writer = (uint64_t)number(o, "writer"),
				.child = flag(o, "child"),
				.sleeps = flag(o, "sleeps"),
				.still_ns = (uint64_t)number(o, "still_ns")};
	word(o, "call", q->call, sizeof(q->call));
	word(o, "wchan", q->wchan, sizeof(q->wchan));
	return 0;
}

static int add_unread(struct set_looks *s, const json_t *o)
{
	int r = GROW(s->unread, s->nunread, s->unread_room);
	if (!r)
		s->unread[s->nunread++] =
			(struct set_unread){number(o, "fd"), number(o, "gen"), number(o, "bytes")};
	return r;
}

static int add_ends(struct set_looks *s, struct set_thread *t, const json_t *fds)
{
	size_t i;
	json_t *e;
	t->ends = s->nends;
	json_array_foreach(fds, i, e)
	{
		if (GROW(s->ends, s->nends, s->ends_room))
			return -ENOMEM;
		s->ends[s->nends++] = (struct set_end){
			json_integer_value(json_array_get(e, 0)), json_integer_value(json_array_get(e, 1)),
			json_is_true(json_array_get(e, 2)), json_is_true(json_array_get(e, 3))};
		t->nends++;
	}
	return 0;
}

static int add_thread(struct set_looks *s, const json_t *o)
{
	static const char *const ins[] = {
		[SET_JOIN] = "join", [SET_LOCK] = "lock", [SET_IO] = "io", [SET_LOOP] = "loop"};
	const char *in = json_string_value(json_object_get(o, "in"));
	const json_t *epfd = json_object_get(o, "epfd");
	unsigned k = 0;
	while (in && k < sizeof(ins) / sizeof(*ins) && strcmp(in, ins[k]))
		k++;
	if (!in || k == sizeof(ins) / sizeof(*ins))
		return 0;
	int r = GROW(s->threads, s->nthreads, s->threads_room);
	if (r)
		return r;
	struct set_thread *t = &s->threads[s->nthreads];
	*t = (struct set_thread){
		.tid = (uint64_t)number(o, "tid"),
		.slot = (uint64_t)number(o, "slot"),
		.entity = (uint64_t)number(o, "entity"),
		.native = (uint64_t)number(o, "native"),
		.of = (uint64_t)number(o, "of"),
		.seq = (uint64_t)number(o, "seq"),
		.switches = (uint64_t)number(o, "switches"),
		.events = (uint64_t)number(o, "events"),
		.in = k,
		.all = flag(o, "all"),
		.epfd = json_is_integer(epfd) ? json_integer_value(epfd) : -1,
	};
	r = add_ends(s, t, json_object_get(o, "fds"));
	if (!r)
		r = slices_stack(s->stacks, json_object_get(o, "stack"), &t->stack);
	s->nthreads += !r;
	return r;
}

// Those who wait at hubs. *n: how many.
static int add_waits(struct set_looks *s, const json_t *o, size_t *n)
{
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(o, "waits"), i, e)
	{
		const char *hub = json_string_value(json_object_get(e, "hub")),
			   *name = json_string_value(json_object_get(e, "name"));
		if (GROW(s->waits, s->nwaits, s->waits_room))
			return -ENOMEM;
		s->waits[s->nwaits++] = (struct set_circle_wait){
			(uint64_t)number(e, "coroutine"), (uint64_t)number(e, "changes"),
			hub ? strtoull(hub, NULL, 16) : 0, name ? strdup(name) : NULL};
		++*n;
	}
	s->bad_lines += !*n;
	return 0;
}

static int add_circle(struct set_looks *s, const json_t *o)
{
	struct set_circle c = {
		.firm = flag(o, "firm"), .container = flag(o, "container"), .waits = s->nwaits};
	int r = add_waits(s, o, &c.n);
	r = r || !c.n ? r : GROW(s->circles, s->ncircles, s->circles_room);
	if (!r && c.n)
		s->circles[s->ncircles++] = c;
	return r;
}

static int add_held(struct set_looks *s, const json_t *o)
{
	struct set_held h = {.by = (uint64_t)number(o, "by"), .mutex = flag(o, "mutex"), .waits = s->nwaits};
	int r = add_waits(s, o, &h.n);
	r = r || !h.n ? r : GROW(s->held, s->nheld, s->held_room);
	if (!r && h.n)
		s->held[s->nheld++] = h;
	return r;
}

static int add_queued(struct set_looks *s, const json_t *o)
{
	struct set_queued q = {.waits = s->nwaits};
	int r = add_waits(s, o, &q.n);
	r = r || !q.n ? r : GROW(s->queued, s->nqueued, s->queued_room);
	if (!r && q.n)
		s->queued[s->nqueued++] = q;
	return r;
}

static int add_parked(struct set_parked_list *l, const json_t *o)
{
	size_t i;
	json_t *e;
	json_array_foreach(json_object_get(o, "parked"), i, e)
	{
		if (GROW(l->v, l->n, l->room))
			return -ENOMEM;
		l->v[l->n++] = (struct set_parked){(uint64_t)json_integer_value(json_array_get(e, 0)),
						   (uint64_t)json_integer_value(json_array_get(e, 1))};
	}
	return 0;
}

static int add_filled(struct set_looks *s, const json_t *o)
{
	const char *at = json_string_value(json_object_get(o, "at")),
		   *name = json_string_value(json_object_get(o, "name"));
	size_t first = s->readers.n;
	int r = add_parked(&s->readers, o);
	r = r || s->readers.n == first ? r : GROW(s->filled, s->nfilled, s->filled_room);
	if (r || s->readers.n == first)
		return r;
	s->filled[s->nfilled++] = (struct set_filled){.at = at ? strtoull(at, NULL, 16) : 0,
						      .apart = (uint64_t)number(o, "apart"),
						      .here = flag(o, "here"),
						      .parks = (uint64_t)number(o, "parks"),
						      .moves = (uint64_t)number(o, "moves"),
						      .late_ns = (uint64_t)number(o, "late_ns"),
						      .empty_ns = (uint64_t)number(o, "empty_ns"),
						      .since_ns = (uint64_t)number(o, "since_ns"),
						      .ns = (uint64_t)number(o, "ns"),
						      .name = name ? strdup(name) : NULL,
						      .parked = first,
						      .n = s->readers.n - first};
	return 0;
}

static int add_main(struct set_looks *s, const json_t *o)
{
	return add_parked(&s->parked, o);
}

static int add_rest(struct set_looks *s, const json_t *o)
{
	return add_parked(&s->resting, o);
}

static int add_look(struct set_looks *s, const json_t *o)
{
	size_t i;
	json_t *e;
	s->looked = true;
	s->ns = (uint64_t)number(o, "ns");
	s->handlers = flag(o, "handlers");
	s->sleeps = flag(o, "sleeps");
	json_array_foreach(json_object_get(o, "evidence"), i, e)
	{
		enum proof p = proof_find(json_string_value(json_object_get(e, "id")));
		const char *text = json_string_value(json_object_get(e, "text"));
		const json_t *holds = json_object_get(e, "holds");
		if (p == PROOFS)
			continue;
		free(s->items[p].text);
		s->items[p] = (struct witness_item){json_is_true(holds)  ? HOLDS_TRUE :
						    json_is_false(holds) ? HOLDS_FALSE :
									   HOLDS_OPEN,
						    text ? strdup(text) : NULL, s->ns};
	}
	return 0;
}

static int line(void *looks, const json_t *o)
{
	struct set_looks *s = looks;
	static const struct {
		const char *what;
		int (*add)(struct set_looks *s, const json_t *o);
	} kinds[] = {{"stale", add_stale},   {"shared", add_shared}, {"queue", add_queue},
		     {"unread", add_unread}, {"thread", add_thread}, {"circle", add_circle},
		     {"held", add_held},     {"main", add_main},     {"rest", add_rest},
		     {"queued", add_queued}, {"filled", add_filled}, {"look", add_look}};
	const char *what = json_string_value(json_object_get(o, "what"));
	for (size_t i = 0; what && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(what, kinds[i].what))
			return kinds[i].add(s, o);
	s->bad_lines++;
	return 0;
}

int set_looks_read(struct set_looks *s, struct slices_set *stacks, int folder, const char *name)
{
	s->stacks = stacks;
	int r = json_each_line(folder, name, line, s, &s->bad_lines);
	s->stacks = NULL;
	return r;
}

void set_looks_deinit(struct set_looks *s)
{
	for (unsigned p = 0; p < PROOFS; p++)
		free(s->items[p].text);
	free(s->stale);
	free(s->shared);
	free(s->queues);
	free(s->unread);
	free(s->threads);
	free(s->ends);
	free(s->circles);
	free(s->held);
	free(s->queued);
	for (size_t i = 0; i < s->nfilled; i++)
		free(s->filled[i].name);
	free(s->filled);
	free(s->readers.v);
	free(s->parked.v);
	free(s->resting.v);
	for (size_t i = 0; i < s->nwaits; i++)
		free(s->waits[i].name);
	free(s->waits);
	memset(s, 0, sizeof(*s));
}
