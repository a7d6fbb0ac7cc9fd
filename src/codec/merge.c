// SPDX-License-Identifier: MIT
//
// One queue per thread, and a hash of the entities discovered so far. The head of a
// queue is ready if it is the next state change of both its coroutines; of all ready
// heads the oldest goes first. If no head is ready, a record was lost or is still in a
// ring. Then a head goes that has waited for a whole round, or whose queue has ended,
// and its coroutines skip the numbers that are missing.
#include "codec/merge.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

// Two CPUs' clocks never differ by more; where all else is later by that much,
// a missing predecessor does not come any more.
#define SKEW_TICKS 100000u

struct item {
	struct ctp_event e;
	uint32_t tid;
	uint32_t round; // in which it was pushed
};

struct queue {
	struct item *items;
	size_t first, n, room;
	bool open;
};

struct ctp_merge {
	ctp_merge_sink *sink;
	void *arg;
	struct queue *queues;
	uint32_t n_queues;
	uint32_t round;
	struct ctp_merge_entity *map; // open addressing, id 0 = free
	size_t map_room, map_n;       // room: a power of two
};

// ---------------------------------------------------------------- entities

static size_t slot_of(const struct ctp_merge *m, uint64_t id)
{
	return (size_t)(id * 0x9E3779B97F4A7C15ULL >> 20) & (m->map_room - 1);
}

static struct ctp_merge_entity *map_find(const struct ctp_merge *m, uint64_t id)
{
	size_t i = slot_of(m, id);
	while (m->map[i].id && m->map[i].id != id)
		i = (i + 1) & (m->map_room - 1);
	return &m->map[i];
}

// Room for two more. 0 or -ENOMEM.
static int map_reserve(struct ctp_merge *m)
{
	if ((m->map_n + 2) * 4 < m->map_room * 3)
		return 0;
	size_t old_room = m->map_room;
	struct ctp_merge_entity *old = m->map, *more = calloc(old_room * 2, sizeof(*more));
	if (!more)
		return -ENOMEM;
	m->map = more;
	m->map_room = old_room * 2;
	for (size_t i = 0; i < old_room; i++)
		if (old[i].id)
			*map_find(m, old[i].id) = old[i];
	free(old);
	return 0;
}

static struct ctp_merge_entity *entity(struct ctp_merge *m, uint64_t id)
{
	struct ctp_merge_entity *e = map_find(m, id);
	if (!e->id) {
		*e = (struct ctp_merge_entity){.id = id};
		m->map_n++;
	}
	return e;
}

static void forget(struct ctp_merge *m, uint64_t id)
{
	size_t mask = m->map_room - 1, hole = (size_t)(map_find(m, id) - m->map);
	if (!m->map[hole].id)
		return;
	m->map_n--;
	for (size_t i = (hole + 1) & mask; m->map[i].id; i = (i + 1) & mask) {
		size_t home = slot_of(m, m->map[i].id);
		if (((i - home) & mask) >= ((i - hole) & mask)) {
			m->map[hole] = m->map[i];
			hole = i;
		}
	}
	m->map[hole].id = 0;
}

// ------------------------------------------------------------------ order

static const struct item *head(const struct queue *q)
{
	return q->n ? &q->items[q->first] : NULL;
}

// How far the record's number is ahead of its coroutine: 1 is right.
static int64_t ahead(const struct ctp_merge *m, uint64_t id, uint32_t n, const struct ctp_event *r)
{
	const struct ctp_merge_entity *e = map_find(m, id);
	return e->id ? ctp_number_ahead(e->n, e->time, n, ctp_event_bits(r), r->time) : (int64_t)n;
}

static bool ready(const struct ctp_merge *m, const struct ctp_event *r)
{
	if (r->kind != CTP_EV_SWITCH)
		return true;
	return ahead(m, r->a, r->a_n, r) <= 1 && ahead(m, r->b, r->b_n, r) <= 1;
}

static uint64_t about(const struct ctp_event *r)
{
	return r->kind == CTP_EV_CREATE || r->kind == CTP_EV_THREAD || r->kind == CTP_EV_FINISH ||
			       r->kind == CTP_EV_DESTROY ?
		       r->a :
		       0;
}

static bool begins(const struct ctp_event *r)
{
	return r->kind == CTP_EV_CREATE || r->kind == CTP_EV_THREAD;
}

static uint64_t moves(struct ctp_merge_entity *e, uint64_t on, uint64_t time)
{
	e->time = time;
	return e->n += on;
}

static void hand_on_switch(struct ctp_merge *m, struct ctp_merged *out)
{
	const struct ctp_event *r = &out->event;
	int64_t from = ahead(m, r->a, r->a_n, r), to = ahead(m, r->b, r->b_n, r);
	if (!r->a || !r->b || r->a == r->b || from < 1 || to < 1)
		return; // it came late: a later record of the coroutine was handed on
	entity(m, r->a);
	out->to = entity(m, r->b);
	out->from = map_find(m, r->a);
	out->from_gap = from > 1;
	out->to_gap = to > 1;
	out->gap = out->from_gap || out->to_gap;
	out->from_n = moves(out->from, (uint64_t)from, r->time);
	out->to_n = moves(out->to, (uint64_t)to, r->time);
	m->sink(m->arg, out);
	if (r->how == CTP_HOW_GONE || r->how == CTP_HOW_RETURN)
		forget(m, r->a);
}

static void hand_on(struct ctp_merge *m, uint32_t queue)
{
	struct queue *q = &m->queues[queue];
	struct item it = q->items[q->first];
	struct ctp_merged out = {.event = it.e, .queue = queue, .tid = it.tid};
	q->first++;
	q->n--;
	if (map_reserve(m) < 0)
		return;
	if (it.e.kind == CTP_EV_SWITCH) {
		hand_on_switch(m, &out);
		return;
	}
	uint64_t id = about(&it.e);
	out.from = id ? entity(m, id) : NULL;
	m->sink(m->arg, &out);
	if (id && !begins(&it.e))
		forget(m, id);
}

enum pass { PASS_LIVE, PASS_STREAMS, PASS_ALL };

// May a head that is not ready go on with a gap?
static bool may_jump(const struct ctp_merge *m, const struct item *it, enum pass pass)
{
	return pass != PASS_LIVE || m->round - it->round >= 2;
}

// Hands on all that may be. Returns the queue that it waits for.
static uint32_t run(struct ctp_merge *m, enum pass pass)
{
	uint64_t slack = pass == PASS_LIVE ? 0 : SKEW_TICKS;
	for (;;) {
		uint32_t best = UINT32_MAX, stuck = UINT32_MAX;
		uint64_t best_time = UINT64_MAX, stuck_time = UINT64_MAX, second = UINT64_MAX;
		for (uint32_t i = 0; i < m->n_queues; i++) {
			const struct item *it = head(&m->queues[i]);
			if (!it) {
				if (pass == PASS_STREAMS && m->queues[i].open)
					return i;
				continue;
			}
			if (ready(m, &it->e)) {
				if (best == UINT32_MAX || it->e.time < best_time) {
					second = best_time;
					best = i;
					best_time = it->e.time;
				} else if (it->e.time < second) {
					second = it->e.time;
				}
			} else if (may_jump(m, it, pass) &&
				   (stuck == UINT32_MAX || it->e.time < stuck_time)) {
				stuck = i;
				stuck_time = it->e.time;
			} else {
				second = 0; // it may become ready by what goes next: one at a time
			}
		}
		bool alone = stuck == UINT32_MAX;
		if (!alone && (best == UINT32_MAX || best_time > stuck_time + slack))
			best = stuck;
		if (best == UINT32_MAX)
			return UINT32_MAX;
		hand_on(m, best);
		struct queue *q = &m->queues[best];
		while (alone && q->n && head(q)->e.time < second && ready(m, &head(q)->e))
			hand_on(m, best);
	}
}

// ----------------------------------------------------------------- callers

struct ctp_merge *ctp_merge_new(ctp_merge_sink *sink, void *arg)
{
	struct ctp_merge *m = calloc(1, sizeof(*m));
	if (!m)
		return NULL;
	*m = (struct ctp_merge){.sink = sink, .arg = arg, .map_room = 1024};
	m->map = calloc(m->map_room, sizeof(*m->map));
	if (!m->map) {
		free(m);
		return NULL;
	}
	return m;
}

void ctp_merge_free(struct ctp_merge *m)
{
	if (!m)
		return;
	for (uint32_t i = 0; i < m->n_queues; i++)
		free(m->queues[i].items);
	free(m->queues);
	free(m->map);
	free(m);
}

static int need_queue(struct ctp_merge *m, uint32_t queue)
{
	if (queue < m->n_queues)
		return 0;
	struct queue *more = realloc(m->queues, sizeof(*more) * ((size_t)queue + 1));
	if (!more)
		return -ENOMEM;
	memset(more + m->n_queues, 0, sizeof(*more) * (queue + 1 - m->n_queues));
	m->queues = more;
	m->n_queues = queue + 1;
	return 0;
}

int ctp_merge_push(struct ctp_merge *m, uint32_t queue, uint32_t tid, const struct ctp_event *e, uint32_t n)
{
	if (need_queue(m, queue) < 0)
		return -ENOMEM;
	struct queue *q = &m->queues[queue];
	if (q->first && (q->first >= q->n || q->first + q->n + n > q->room)) {
		memmove(q->items, q->items + q->first, q->n * sizeof(*q->items));
		q->first = 0;
	}
	if (q->first + q->n + n > q->room) {
		size_t room = (q->n + n) * 2;
		struct item *more = realloc(q->items, room * sizeof(*more));
		if (!more)
			return -ENOMEM;
		q->items = more;
		q->room = room;
	}
	struct item *at = q->items + q->first + q->n;
	for (uint32_t i = 0; i < n; i++)
		at[i] = (struct item){.e = e[i], .tid = tid, .round = m->round};
	q->n += n;
	return 0;
}

void ctp_merge_open(struct ctp_merge *m, uint32_t queue)
{
	if (!need_queue(m, queue))
		m->queues[queue].open = true;
}

void ctp_merge_close(struct ctp_merge *m, uint32_t queue)
{
	if (queue < m->n_queues)
		m->queues[queue].open = false;
}

struct ctp_merge_entity *ctp_merge_find(struct ctp_merge *m, uint64_t id)
{
	struct ctp_merge_entity *e = map_find(m, id);
	return e->id && e->id == id ? e : NULL;
}

void ctp_merge_each(struct ctp_merge *m, ctp_merge_each_sink *sink, void *arg)
{
	for (size_t i = 0; i < m->map_room; i++)
		if (m->map[i].id)
			sink(arg, &m->map[i]);
}

void ctp_merge_turn(struct ctp_merge *m)
{
	m->round++;
	run(m, PASS_LIVE);
}

uint32_t ctp_merge_run(struct ctp_merge *m)
{
	return run(m, PASS_STREAMS);
}

void ctp_merge_flush(struct ctp_merge *m)
{
	run(m, PASS_ALL);
}
