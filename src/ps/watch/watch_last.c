// SPDX-License-Identifier: MIT
//
// The rings keep records that ctp-run has already taken, until the thread overwrites them.
// What is copied while its thread writes is dropped where the writer may have been. A short
// record leaves out what the record before it said (ctp/record.h): if the copy begins in the
// middle, ids are unknown until a long record comes, and such records are not reported.
// Records of one coroutine are ordered by its number of changes. An event for a coroutine that
// is suspended is no change; it is placed by its time.
#include "ps/watch/watch_last.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "ctp/record.h"

enum { SLOTS = CTP_RING_BYTES / sizeof(struct ctp_record), BUDGET = 64 << 20 }; // of one ring; bytes in all

struct reading {
	struct watch_last *out;
	const struct found *found;
	uint64_t id, changes;
	struct clock_pairs clock;
	uint64_t now;
	size_t left; // of the budget
	struct ctp_record slots[SLOTS];
};

// Equal numbers, or one that has none: what was later.
static bool later(const struct watch_event *e, const struct watch_event *than)
{
	bool by_time = e->n == than->n || e->kind == CTP_EV_READY || than->kind == CTP_EV_READY;
	return by_time ? e->ns > than->ns : e->n > than->n;
}

// Keeps the newest.
static void keep(struct watch_last *l, const struct watch_event *e)
{
	size_t at = l->n;
	while (at && later(e, &l->v[at - 1]))
		at--;
	if (at == WATCH_LAST)
		return;
	size_t rest = l->n - at - (l->n == WATCH_LAST);
	memmove(&l->v[at + 1], &l->v[at], rest * sizeof(*l->v));
	l->v[at] = *e;
	l->n += l->n < WATCH_LAST;
}

// The whole number of which these are the low bits; 0: it is newer than what is known.
static uint64_t number(const struct reading *r, uint32_t low, unsigned bits)
{
	uint64_t mask = (1ULL << bits) - 1, back = (r->changes - low) & mask;
	return back < mask / 2 && back < r->changes ? r->changes - back : 0;
}

static bool unnumbered(uint8_t kind)
{
	return kind == CTP_EV_CREATE || kind == CTP_EV_READY;
}

static void note(struct reading *r, const struct ctp_event *e, const struct ctp_cursor *c, uint32_t tid)
{
	struct watch_event v = {.ns = clock_to_ns(&r->clock, e->time),
				.stack = e->stack,
				.tid = tid,
				.kind = e->kind,
				.how = e->how};
	if (e->kind == CTP_EV_SWITCH) {
		if (e->a != r->id && e->b != r->id)
			return;
		v.went_on = e->b == r->id;
		v.other = v.went_on ? e->a : e->b;
		v.n = number(r, v.went_on ? e->b_n : e->a_n, ctp_event_bits(e));
	} else if (e->a != r->id || e->kind == CTP_EV_SLEPT) { // how long a loop slept is of no coroutine
		return;
	} else {
		bool runs = c->current == r->id;
		v.n = unnumbered(e->kind) ? 0 : runs ? number(r, c->n, CTP_SHORT_BITS) : r->changes;
		v.fd = (int32_t)e->value;
		v.gen = (uint32_t)(e->value >> 32);
		v.other = e->b;
	}
	if (v.n || unnumbered(e->kind))
		keep(r->out, &v);
}

static bool marks(const struct ctp_record *s, size_t n)
{
	return ctp_record_kind(s) == CTP_EV_SWITCH && ctp_record_slots(s, n) == 2 &&
	       (s[1].w0 >> 56 & CTP_MARK_NEAR);
}

// Records of one thread, which began at that time: what is older was another's. sure: it is known from where
// short records count (c.near), unless one of them says it.
static void read_records(struct reading *r, const struct ctp_record *s, size_t n, struct ctp_cursor c,
			 bool sure, uint32_t tid, uint64_t began)
{
	struct ctp_event e;
	for (size_t i = 0; sure && i < n; i++)
		sure = !marks(s + i, n - i);
	c.time = n ? (r->now & ~CTP_TIME_MASK) | s->w0 >> 8 : 0;
	c.time -= c.time > r->now ? CTP_TIME_MASK + 1 : 0;
	for (size_t i = 0, took; i < n; i += took) {
		bool named = sure || !ctp_kind_is_short(ctp_record_kind(s + i)) ||
			     (s[i].w1 & CTP_SHORT_MASK) == CTP_SHORT_NATIVE;
		sure |= marks(s + i, n - i);
		took = ctp_record_read(&c, s + i, n - i, &e);
		if (!took) { // the rest of one that is gone
			took = 1;
			continue;
		}
		if (!named)
			c.current = e.b = 0;
		if (e.time >= began)
			note(r, &e, &c, tid);
	}
}

// Slots [from, to) of a ring, those that were not overwritten meanwhile.
static int read_ring(struct reading *r, uint32_t slot, const struct ctp_thread *t)
{
	const struct ctp_ext *x = &r->found->header.ext;
	uint64_t capacity = x->ring_bytes / sizeof(struct ctp_record),
		 n = t->head < capacity ? t->head : capacity, head;
	uint64_t ring = x->rings_off + (uint64_t)slot * x->ring_bytes;
	n = n < SLOTS ? n : SLOTS;
	n = n < r->left / sizeof(struct ctp_record) ? n : r->left / sizeof(struct ctp_record);
	r->left -= n * sizeof(struct ctp_record);
	for (uint64_t done = 0, some; done < n; done += some) {
		uint64_t at = (t->head - n + done) & (capacity - 1);
		some = n - done < capacity - at ? n - done : capacity - at;
		int e = source_read(&r->found->region, ring + at * sizeof(*r->slots), r->slots + done,
				    some * sizeof(*r->slots));
		if (e)
			return e;
	}
	uint64_t off = x->threads_off + slot * sizeof(*t) + offsetof(struct ctp_thread, head);
	int e = source_read(&r->found->region, off, &head, sizeof(head));
	uint64_t over = head + 2 + n > t->head + capacity ? head + 2 + n - t->head - capacity : 0;
	if (e || over >= n)
		return e;
	bool sure = !(t->near & (CTP_NEAR_UNSURE | CTP_NEAR_TWICE));
	struct ctp_cursor c = {.native = t->native, .near = sure ? t->near : 0};
	read_records(r, r->slots + over, n - over, c, sure, t->tid, t->began);
	return 0;
}

// With --flight: a chunk is read alone.
static int read_chunk(struct reading *r, uint32_t i, const struct ctp_chunk *is, uint64_t used)
{
	const struct ctp_ext *x = &r->found->header.ext;
	struct ctp_chunk now;
	uint64_t place = x->rings_off + (uint64_t)i * CTP_CHUNK_BYTES;
	uint64_t table = x->rings_off + (uint64_t)x->chunks * CTP_CHUNK_BYTES;
	int e = source_read(&r->found->region, place, r->slots, used * sizeof(*r->slots));
	if (!e)
		e = source_read(&r->found->region, table + i * sizeof(now), &now, sizeof(now));
	if (e || now.seq - is->seq > (is->seq & 1))
		return e; // it was taken anew
	if (now.seq != is->seq && used > now.used)
		used = now.used; // ended meanwhile, and the thread's head counts slots of the next one
	read_records(r, r->slots, used, (struct ctp_cursor){.native = is->native}, false, is->tid, 0);
	return 0;
}

static int read_chunks(struct reading *r)
{
	const struct ctp_ext *x = &r->found->header.ext;
	struct ctp_chunk *v = calloc(x->chunks, sizeof(*v));
	uint64_t table = x->rings_off + (uint64_t)x->chunks * CTP_CHUNK_BYTES;
	int e = v ? source_read(&r->found->region, table, v, x->chunks * sizeof(*v)) : -ENOMEM;
	for (uint32_t i = 0; !e && i < x->chunks; i++) {
		const struct ctp_chunk *c = &v[i];
		uint64_t used = c->used, head;
		if (!c->seq || c->ready != (c->seq & 1 ? c->seq : c->seq - 1) || c->thread >= x->threads_max)
			continue;
		if (c->seq & 1) {
			uint64_t off = x->threads_off + c->thread * sizeof(struct ctp_thread) +
				       offsetof(struct ctp_thread, head);
			e = source_read(&r->found->region, off, &head, sizeof(head));
			used = head - c->first;
		}
		if (!e && used && used <= CTP_CHUNK_SLOTS && r->left >= CTP_CHUNK_BYTES) {
			r->left -= CTP_CHUNK_BYTES;
			e = read_chunk(r, i, c, used);
		}
	}
	free(v);
	return e;
}

static int read_rings(struct reading *r)
{
	const struct ctp_ext *x = &r->found->header.ext;
	struct ctp_header h;
	int e = source_read(&r->found->region, 0, &h, sizeof(h));
	for (uint32_t i = 0; !e && i < h.ext.thread_high && i < x->threads_max && i < CTP_THREADS_MAX; i++) {
		struct ctp_thread t;
		e = source_read(&r->found->region, x->threads_off + i * sizeof(t), &t, sizeof(t));
		if (!e && t.life == CTP_THREAD_LIVE)
			e = read_ring(r, i, &t);
	}
	return e;
}

int watch_last_read(struct watch_last *out, const struct found *f, uint64_t id, uint64_t changes)
{
	const struct ctp_ext *x = &f->header.ext;
	struct reading *r = malloc(sizeof(*r));
	if (!r)
		return -ENOMEM;
	*out = (struct watch_last){.n = 0};
	r->out = out;
	r->found = f;
	r->id = id;
	r->changes = changes;
	r->left = BUDGET;
	clock_adopt(&r->clock, x->clock_kind == CTP_CLOCK_TSC, x->clock_ticks0, x->clock_ns0);
	r->now = clock_ticks(&r->clock);
	int e = x->options & CTP_OPT_FLIGHT ? read_chunks(r) : read_rings(r);
	free(r);
	return e;
}
