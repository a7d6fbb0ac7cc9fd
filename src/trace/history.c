// SPDX-License-Identifier: MIT
//
// The newest record of an entity gives its state. Records of different threads are
// ordered by time, and by the entity's own numbers where times are too near. A coroutine
// of which every record was dropped is not known and does not count.
#include "trace/history.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

static struct history_entity *entity(struct history *h, uint64_t id)
{
	uint32_t row = idmap_get(&h->by_id, id);
	if (row != IDMAP_NONE)
		return &h->items[row];
	if (h->n >= IDMAP_NONE || GROW(h->items, h->n, h->capacity) ||
	    idmap_set(&h->by_id, id, (uint32_t)h->n))
		return NULL;
	h->items[h->n] = (struct history_entity){0};
	return &h->items[h->n++];
}

#define SKEW_TICKS 100000u // clocks of two CPUs never differ by more

// What a record makes of an entity. `n`: its number by then, NULL where the record has none.
struct change {
	uint64_t id, time;
	const uint32_t *n;
	enum ctp_life life;
};

// By their numbers where the clocks alone would not tell.
static bool is_newer(const struct history_entity *e, const struct change *c)
{
	uint64_t apart = c->time > e->time ? c->time - e->time : e->time - c->time;
	if (!c->n || !e->numbered || apart > SKEW_TICKS || ((*c->n ^ e->n) & CTP_SHORT_MASK) == 0)
		return c->time >= e->time;
	return ((*c->n - e->n) & CTP_SHORT_MASK) >> (CTP_SHORT_BITS - 1) == 0;
}

static int becomes(struct history *h, const struct change *c)
{
	struct history_entity *e = c->id ? entity(h, c->id) : NULL;
	if (!e)
		return c->id ? -ENOMEM : 0;
	if (is_newer(e, c)) {
		e->time = c->time;
		e->life = (uint8_t)c->life;
		if (c->n)
			e->n = *c->n;
		e->numbered = c->n || e->numbered;
	}
	h->last = c->time > h->last ? c->time : h->last;
	return 0;
}

static bool is_end(unsigned how)
{
	return how == CTP_HOW_GONE || how == CTP_HOW_RETURN;
}

static int switched(struct history *h, const struct ctp_event *e)
{
	int r = becomes(
		h, &(struct change){e->a, e->time, &e->a_n, is_end(e->how) ? CTP_FINISHED : CTP_SUSPENDED});
	return r ? r : becomes(h, &(struct change){e->b, e->time, &e->b_n, CTP_RUNNING});
}

static int named(struct history *h, uint64_t id)
{
	struct history_entity *e = entity(h, id);
	if (e)
		e->native = true;
	return e ? 0 : -ENOMEM;
}

int history_add(struct history *h, const struct ctp_event *events, size_t n)
{
	static const uint8_t lives[] = {[CTP_EV_CREATE] = CTP_CREATED,
					[CTP_EV_FINISH] = CTP_FINISHED,
					[CTP_EV_DESTROY] = CTP_DESTROYED};
	int r = 0;
	for (size_t i = 0; !r && i < n; i++) {
		const struct ctp_event *e = &events[i];
		if (e->kind == CTP_EV_SWITCH)
			r = switched(h, e);
		else if (e->kind == CTP_EV_THREAD)
			r = named(h, e->a);
		else if (e->kind < sizeof(lives) && lives[e->kind])
			r = becomes(h, &(struct change){e->a, e->time, NULL, lives[e->kind]});
	}
	return r;
}

void history_count(const struct history *h, struct image_counts *counts)
{
	uint64_t by_life[CTP_DESTROYED + 1] = {0};
	for (size_t i = 0; i < h->n; i++)
		by_life[h->items[i].native ? CTP_NONE : h->items[i].life]++;
	counts->created = by_life[CTP_CREATED];
	counts->suspended = by_life[CTP_SUSPENDED];
	counts->running = by_life[CTP_RUNNING];
	counts->finished = by_life[CTP_FINISHED];
	counts->destroyed = by_life[CTP_DESTROYED];
}

void history_deinit(struct history *h)
{
	free(h->items);
	idmap_deinit(&h->by_id);
	memset(h, 0, sizeof(*h));
}
