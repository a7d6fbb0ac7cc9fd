// SPDX-License-Identifier: MIT
//
// A slice lasts from one switch of a thread to its next one; after lost records the thread begins anew. An
// event for a coroutine is remembered in one of so many places by its id: if another one takes the place,
// the latency is not counted. Memory does not grow.
#include "engine/metrics/metrics_times.h"

#include <stdlib.h>

#include "ctp/record.h"

#define EVENTS 16384u // a power of two

struct last_switch {
	uint32_t use;
	uint64_t time, lost; // time 0: none yet
};

struct event {
	uint64_t id, time;
};

struct metrics_times {
	const struct clock_pairs *clock;
	struct metrics_histogram slices, latencies;
	struct event events[EVENTS];
	struct last_switch threads[CTP_THREADS_MAX];
};

struct metrics_times *metrics_times_new(const struct clock_pairs *clock)
{
	struct metrics_times *t = calloc(1, sizeof(*t));
	if (t)
		t->clock = clock;
	return t;
}

void metrics_times_free(struct metrics_times *t)
{
	free(t);
}

double metrics_bound_s(unsigned bucket)
{
	return (double)(1ULL << 2 * bucket) / 1e6;
}

static void count(struct metrics_histogram *h, double s)
{
	unsigned i = 0;
	while (i < METRICS_BUCKETS && s > metrics_bound_s(i))
		i++;
	h->buckets[i]++;
	h->n++;
	h->sum_s += s;
}

static double seconds(const struct metrics_times *t, uint64_t ticks)
{
	return (double)ticks * (t->clock->tsc ? t->clock->ns_per_tick : 1) / 1e9;
}

static void take_switch(struct metrics_times *t, struct last_switch *last, const struct ctp_event *e,
			uint64_t native)
{
	struct event *left = &t->events[e->a % EVENTS], *on = &t->events[e->b % EVENTS];
	if (last->time && e->time >= last->time && e->a != native)
		count(&t->slices, seconds(t, e->time - last->time));
	last->time = e->time;
	if (left->id == e->a && left->time <= e->time)
		left->id = 0; // an event of before it was suspended
	if (on->id == e->b && on->time <= e->time) {
		count(&t->latencies, seconds(t, e->time - on->time));
		on->id = 0;
	}
}

void metrics_times_take(void *times, const struct writer_batch *b)
{
	struct metrics_times *t = times;
	struct ctp_cursor c = b->start;
	struct ctp_event e;
	if (b->slot >= CTP_THREADS_MAX)
		return;
	struct last_switch *last = &t->threads[b->slot];
	if (last->use != b->use || last->lost != b->lost)
		*last = (struct last_switch){.use = b->use, .lost = b->lost};
	for (uint32_t i = 0, n; i < b->n && (n = ctp_record_read(&c, b->slots + i, b->n - i, &e)); i += n) {
		if (e.kind == CTP_EV_SWITCH)
			take_switch(t, last, &e, c.native);
		else if (e.kind == CTP_EV_READY && t->events[e.a % EVENTS].id != e.a)
			t->events[e.a % EVENTS] = (struct event){e.a, e.time};
	}
}

const struct metrics_histogram *metrics_times_slices(const struct metrics_times *t)
{
	return &t->slices;
}

const struct metrics_histogram *metrics_times_latencies(const struct metrics_times *t)
{
	return &t->latencies;
}
