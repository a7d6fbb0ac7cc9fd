// SPDX-License-Identifier: MIT
//
// The newest record of an entity says what it is; records of different threads
// are ordered by their time. What was lost is not known: a coroutine whose
// every record was dropped does not count.
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
	if (h->n >= IDMAP_NONE || GROW(h->items, h->n, h->capacity) || idmap_set(&h->by_id, id, (uint32_t)h->n))
		return NULL;
	h->items[h->n] = (struct history_entity){ 0 };
	return &h->items[h->n++];
}

static int becomes(struct history *h, uint64_t id, uint64_t time, enum ctp_life life)
{
	struct history_entity *e = id ? entity(h, id) : NULL;
	if (!e)
		return id ? -ENOMEM : 0;
	if (time >= e->time) {
		e->time = time;
		e->life = (uint8_t)life;
	}
	h->last = time > h->last ? time : h->last;
	return 0;
}

static bool is_end(unsigned how)
{
	return how == CTP_HOW_GONE || how == CTP_HOW_RETURN;
}

static int switched(struct history *h, const struct ctp_record *r)
{
	enum ctp_life left = is_end(ctp_record_how(r)) ? CTP_FINISHED : CTP_SUSPENDED;
	int e = becomes(h, ctp_record_a(r), r->time, left);
	return e ? e : becomes(h, ctp_record_b(r), r->time, CTP_RUNNING);
}

static int named(struct history *h, uint64_t id)
{
	struct history_entity *e = entity(h, id);
	if (e)
		e->native = true;
	return e ? 0 : -ENOMEM;
}

int history_add(struct history *h, const struct ctp_record *records, size_t n)
{
	int e = 0;
	for (size_t i = 0; !e && i < n; i++) {
		const struct ctp_record *r = &records[i];
		switch (ctp_record_kind(r)) {
		case CTP_EV_SWITCH:
			e = switched(h, r);
			break;
		case CTP_EV_CREATE:
			e = becomes(h, ctp_record_a(r), r->time, CTP_CREATED);
			break;
		case CTP_EV_FINISH:
			e = becomes(h, ctp_record_a(r), r->time, CTP_FINISHED);
			break;
		case CTP_EV_DESTROY:
			e = becomes(h, ctp_record_a(r), r->time, CTP_DESTROYED);
			break;
		case CTP_EV_THREAD:
			e = named(h, ctp_record_a(r));
			break;
		}
	}
	return e;
}

void history_count(const struct history *h, struct image_counts *counts)
{
	uint64_t by_life[CTP_DESTROYED + 1] = { 0 };
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
