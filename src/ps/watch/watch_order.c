// SPDX-License-Identifier: MIT
//
// A million rows are sorted after each inspection. Each column supplies numbers, the smallest
// first, which are sorted by radix (least significant byte first, which keeps the order of
// equals); bytes that are equal in all rows are skipped. Equal rows are ordered by how long
// they have been in their state, then by id.
#include "ps/watch/watch_order.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/idmap.h"

struct watch_key {
	uint64_t key;
	uint32_t item;
};

void watch_order_deinit(struct watch_order *o)
{
	free(o->items);
	free(o->keys);
	free(o->spare);
	*o = (struct watch_order){0};
}

bool watch_order_alike(const struct watch_row *a, const struct watch_row *b)
{
	return a->c.entry == b->c.entry && a->c.life == b->c.life && a->c.recorded == b->c.recorded &&
	       a->closed == b->closed && a->finding == b->finding && a->c.status == b->c.status &&
	       a->frame_state == b->frame_state;
}

static int add(struct watch_order *o, uint32_t row, const struct watch_row *r)
{
	if (GROW(o->items, o->n, o->capacity))
		return -ENOMEM;
	o->items[o->n++] = (struct watch_item){.row = row,
					       .n = 1,
					       .since = r->since,
					       .slice_ns = r->slice_ns,
					       .rate = r->rate,
					       .cpu = r->cpu,
					       .closed = r->closed};
	return 0;
}

static float sum(float a, float b)
{
	return a < 0 ? b : b < 0 ? a : a + b;
}

static void join(struct watch_item *to, uint32_t row, const struct watch_row *r)
{
	bool older = r->since && (!to->since || r->since < to->since);
	to->n++;
	to->row = older ? row : to->row;
	to->since = older ? r->since : to->since;
	to->slice_ns = r->slice_ns > to->slice_ns ? r->slice_ns : to->slice_ns;
	to->rate = sum(to->rate, r->rate);
	to->cpu = sum(to->cpu, r->cpu);
}

static uint64_t group_hash(const struct watch_row *r)
{
	uint64_t h = r->c.entry * 0x9e3779b97f4a7c15ULL;
	return (h ^ (h >> 32) ^ r->c.recorded) * 0xff51afd7ed558ccdULL + r->c.life * 16 + r->c.status * 4 +
	       r->finding * 2U + r->closed;
}

static int add_to_group(struct watch_order *o, const struct watch_model *m, struct idmap *groups,
			uint32_t row)
{
	const struct watch_row *r = &m->rows[row];
	uint64_t hash = group_hash(r);
	uint32_t at;
	for (; (at = idmap_get(groups, hash)) != IDMAP_NONE; hash++)
		if (watch_order_alike(r, &m->rows[o->items[at].row])) {
			join(&o->items[at], row, r);
			return 0;
		}
	int e = idmap_set(groups, hash, (uint32_t)o->n);
	return e ? e : add(o, row, r);
}

static int collect(struct watch_order *o, const struct watch_model *m, const struct watch_wish *w)
{
	struct idmap groups = {0};
	int e = 0;
	o->n = 0;
	for (uint32_t i = 0; !e && i < m->n; i++) {
		const struct watch_row *r = &m->rows[i];
		if (r->there && (!w->only || watch_order_alike(w->only, r)) &&
		    (!w->listed || w->listed(w->arg, r)))
			e = w->grouped ? add_to_group(o, m, &groups, i) : add(o, i, r);
	}
	idmap_deinit(&groups);
	return e;
}

// Most first; what is not known, last.
static uint64_t most(float v)
{
	return v < 0 ? UINT64_MAX : (uint64_t)INT64_MAX - (uint64_t)((double)v * 1000);
}

static uint64_t by_state(const struct watch_row *r)
{
	return r->closed || r->finding    ? 0 :
	       r->c.life == CTP_RUNNING   ? 1 :
	       r->c.life == CTP_SUSPENDED ? 2 + r->c.status :
					    9;
}

static uint64_t key_of(const struct watch_item *i, const struct watch_row *r, enum watch_column column,
		       const struct watch_wish *w)
{
	switch (column) {
	case WATCH_ID:
		return w->grouped ? UINT32_MAX - i->n : r->c.id;
	case WATCH_ENTRY:
		return w->rank(w->arg, r);
	case WATCH_STATE:
		return by_state(r);
	case WATCH_WHERE:
		return w->rank_place(w->arg, r);
	case WATCH_WAITS:
		return r->c.nwaits ? (uint64_t)(uint32_t)r->c.waits[0].fd << 32 | r->c.waits[0].gen :
				     UINT64_MAX;
	case WATCH_RATE:
		return most(i->rate);
	case WATCH_CPU:
		return most(i->cpu);
	case WATCH_SLICE:
		return UINT64_MAX - i->slice_ns;
	default:
		return i->since ? i->since : UINT64_MAX;
	}
}

static void sort(struct watch_order *o)
{
	uint64_t ones = 0, zeros = 0;
	for (size_t i = 0; i < o->n; i++) {
		ones |= o->keys[i].key;
		zeros |= ~o->keys[i].key;
	}
	for (unsigned shift = 0; shift < 64; shift += 8) {
		size_t at[257] = {0};
		if (!((ones & zeros) >> shift & 0xff))
			continue;
		for (size_t i = 0; i < o->n; i++)
			at[(o->keys[i].key >> shift & 0xff) + 1]++;
		for (unsigned i = 1; i < 257; i++)
			at[i] += at[i - 1];
		for (size_t i = 0; i < o->n; i++)
			o->spare[at[o->keys[i].key >> shift & 0xff]++] = o->keys[i];
		struct watch_key *swap = o->keys;
		o->keys = o->spare;
		o->spare = swap;
	}
}

static void sort_by(struct watch_order *o, const struct watch_model *m, enum watch_column column,
		    const struct watch_wish *w)
{
	uint32_t (*rank)(void *, const struct watch_row *) = column == WATCH_ENTRY ? w->rank :
							     column == WATCH_WHERE ? w->rank_place :
										     NULL;
	for (size_t i = 0; rank && i < o->n; i++)
		rank(w->arg, &m->rows[o->items[i].row]); // all have names before they are ranked
	for (size_t i = 0; i < o->n; i++) {
		const struct watch_item *item = &o->items[o->keys[i].item];
		o->keys[i].key = key_of(item, &m->rows[item->row], column, w);
	}
	sort(o);
}

// Puts the items where their keys are.
static int arrange(struct watch_order *o, bool reverse)
{
	struct watch_item *v = malloc(o->capacity * sizeof(*v));
	if (!v)
		return -ENOMEM;
	for (size_t i = 0; i < o->n; i++)
		v[i] = o->items[o->keys[reverse ? o->n - 1 - i : i].item];
	free(o->items);
	o->items = v;
	return 0;
}

int watch_order_make(struct watch_order *o, const struct watch_model *m, const struct watch_wish *w)
{
	int e = collect(o, m, w);
	free(o->keys);
	free(o->spare);
	o->keys = calloc(o->n + 1, sizeof(*o->keys));
	o->spare = calloc(o->n + 1, sizeof(*o->spare));
	if (e || !o->keys || !o->spare) {
		o->n = 0;
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < o->n; i++)
		o->keys[i].item = i;
	sort_by(o, m, WATCH_ID, &(struct watch_wish){.grouped = false});
	if (w->column != WATCH_ID)
		sort_by(o, m, WATCH_SINCE, w);
	if (w->column != WATCH_SINCE && (w->column != WATCH_ID || w->grouped))
		sort_by(o, m, w->column, w);
	e = o->n ? arrange(o, w->reverse) : 0;
	o->n = e ? 0 : o->n;
	return e;
}

size_t watch_order_place(const struct watch_order *o, const struct watch_model *m, uint64_t id)
{
	size_t i = 0;
	while (i < o->n && m->rows[o->items[i].row].c.id != id)
		i++;
	return i;
}
