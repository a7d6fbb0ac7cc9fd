// SPDX-License-Identifier: MIT
//
// Records an event of the program's own: into the ring directly, as the stack may be a coroutine's and small.
// An event that comes while a hook of the same thread is under way (by a signal handler) is lost, and
// counted.
#include "preload/guest/events.h"

#include <errno.h>

#include "cpu.h"
#include "preload/guest/emit.h"
#include "preload/guest/probes.h"

// Where the next byte of an event goes: bytes 8 to 15 of its first two slots, 1 to 15 of those after them.
struct sink {
	struct ctp_record *ring;
	uint64_t capacity, slot; // the next byte's
	unsigned at, rest;       // place in it; slots that have begun before it
};

static void put(struct sink *s, const void *bytes, size_t n)
{
	const unsigned char *p = bytes;
	while (n) {
		if (s->at == sizeof(struct ctp_record)) {
			s->slot++;
			s->at = ++s->rest < 2 ? 8 : 1;
			if (s->at == 1)
				ctp_ring_slot(s->ring, s->capacity, s->slot)->w0 = CTP_EV_REST;
		}
		size_t some = sizeof(struct ctp_record) - s->at < n ? sizeof(struct ctp_record) - s->at : n;
		memcpy((unsigned char *)ctp_ring_slot(s->ring, s->capacity, s->slot) + s->at, p, some);
		s->at += (unsigned)some;
		p += some;
		n -= some;
	}
}

static bool is_long(unsigned kind)
{
	return kind == CTP_EVENT_TEXT || kind == CTP_EVENT_BYTES;
}

static size_t text_bytes(const char *text)
{
	size_t n = 0;
	while (n < CTP_EVENT_STRING && text[n])
		n++;
	return n;
}

// What of a text or of bytes is kept.
struct piece {
	const char *at;
	uint32_t whole; // bytes: how many there were
	uint16_t n;     // with CTP_FIELD_CUT
};

static struct piece piece_of(unsigned kind, uint64_t word)
{
	struct piece p = {0};
	if (kind == CTP_EVENT_BYTES) {
		const ctp_bytes *b = (const void *)word;
		p.at = b->at;
		p.whole = b->bytes < UINT32_MAX ? (uint32_t)b->bytes : UINT32_MAX;
		p.n = (uint16_t)(!b->at ? 0 : b->bytes < CTP_EVENT_STRING ? b->bytes : CTP_EVENT_STRING);
		p.n |= p.n < p.whole ? CTP_FIELD_CUT : 0;
	} else if (word) {
		p.at = (const char *)word;
		p.n = (uint16_t)text_bytes(p.at);
		p.n |= p.n == CTP_EVENT_STRING && p.at[p.n] ? CTP_FIELD_CUT : 0;
	}
	return p;
}

// How many bytes of pieces there is room for, beside all else of the event.
static unsigned pieces_most(const struct ctp_event_info *d)
{
	unsigned fixed = 0;
	for (unsigned i = 0; i < d->fields; i++)
		fixed += d->kinds[i] == CTP_EVENT_BYTES ? 6 : d->kinds[i] == CTP_EVENT_TEXT ? 2 : d->sizes[i];
	return CTP_EVENT_ROOM - fixed;
}

// Goes through the fields; with a sink, writes them. Returns their bytes, of pieces at most `most`.
static unsigned walk(const struct ctp_event_info *d, const uint64_t *words, unsigned most, struct sink *s)
{
	unsigned bytes = 0;
	for (unsigned i = 0; i < d->fields; i++) {
		if (!is_long(d->kinds[i])) {
			bytes += d->sizes[i];
			if (s)
				put(s, &words[i], d->sizes[i]);
			continue;
		}
		struct piece p = piece_of(d->kinds[i], words[i]);
		unsigned n = p.n & ~CTP_FIELD_CUT;
		if (n > most)
			p.n = (uint16_t)((n = most) | CTP_FIELD_CUT);
		most -= n;
		bytes += 2 + n + (d->kinds[i] == CTP_EVENT_BYTES ? 4 : 0);
		if (!s)
			continue;
		put(s, &p.n, 2);
		if (d->kinds[i] == CTP_EVENT_BYTES)
			put(s, &p.whole, 4);
		put(s, p.at, n);
	}
	return bytes;
}

// The first two slots, but for what the event says; that begins behind `sink`.
static struct sink begin(struct thread_ctx *g, const struct ctp_event_info *d, uint64_t now, unsigned slots)
{
	uint64_t head = ctp_ring_head(g->thread);
	struct ctp_record *first = ctp_ring_slot(g->ring, g->ring_capacity, head),
			  *second = ctp_ring_slot(g->ring, g->ring_capacity, head + 1);
	first->w0 = (CTP_EV_USER + (d->row >> 8)) | now << 8;
	second->w0 = CTP_EV_REST | (uint64_t)(d->row & 0xff) << 8 | (guest_who(g) & CTP_ID_MASK) << 16 |
		     (uint64_t)(slots - 2) << 56;
	first->w1 = second->w1 = 0;
	return (struct sink){.ring = g->ring, .capacity = g->ring_capacity, .slot = head, .at = 8};
}

static __attribute__((noinline)) void record_long(struct thread_ctx *g, const struct ctp_event_info *d,
						  const uint64_t *words, uint64_t now)
{
	unsigned most = pieces_most(d), slots = ctp_event_slots(walk(d, words, most, NULL));
	if (!emit_has_room(g, slots, now))
		return;
	struct sink s = begin(g, d, now, slots);
	// A text that another thread makes longer meanwhile is cut where it ended.
	walk(d, words, most, &s);
	ctp_ring_publish(g->thread, ctp_ring_head(g->thread) + slots);
}

// At most two numbers, as they lie one after the other in 16 bytes. False: it is more.
static inline __attribute__((always_inline)) bool is_short(const struct ctp_event_info *d,
							   const uint64_t *words, uint64_t said[2])
{
	unsigned n = d->fields;
	if (n > 2 || (n && is_long(d->kinds[0])) || (n == 2 && is_long(d->kinds[1])))
		return false;
	said[0] = n ? words[0] : 0;
	said[1] = 0;
	if (n < 2)
		return true;
	unsigned bits = 8u * d->sizes[0];
	if (CTP_LIKELY(bits == 64)) {
		said[1] = words[1];
	} else {
		said[0] = (words[0] & ((1ULL << bits) - 1)) | words[1] << bits;
		said[1] = words[1] >> (64 - bits);
	}
	return true;
}

static inline __attribute__((always_inline)) void record_short(struct thread_ctx *g,
							       const struct ctp_event_info *d,
							       const uint64_t said[2], uint64_t now)
{
	uint64_t head = ctp_ring_head(g->thread);
	if (CTP_UNLIKELY(!ctp_ring_fits(g->thread, head, 2))) {
		if (!emit_has_room(g, 2, now))
			return;
		head = ctp_ring_head(g->thread); // where it begins is known only now
	}
	struct ctp_record *first = &g->ring[head & g->ring_mask],
			  *second = &g->ring[(head + 1) & g->ring_mask];
	first->w0 = (CTP_EV_USER + (d->row >> 8)) | now << 8;
	first->w1 = said[0];
	second->w0 = CTP_EV_REST | (uint64_t)(d->row & 0xff) << 8 | (guest_who(g) & CTP_ID_MASK) << 16;
	second->w1 = said[1];
	ctp_ring_publish(g->thread, head + 2);
}

// All that is not so short: if it fits, in two slots as well.
static __attribute__((noinline)) void record_more(struct thread_ctx *g, const struct ctp_event_info *d,
						  const uint64_t *words, uint64_t now)
{
	unsigned bytes = 0;
	unsigned char said[16 + 8];
	for (unsigned i = 0; i < d->fields; i++) {
		if (is_long(d->kinds[i]) || bytes + d->sizes[i] > 16) {
			record_long(g, d, words, now);
			return;
		}
		memcpy(said + bytes, &words[i], 8);
		bytes += d->sizes[i];
	}
	if (!emit_has_room(g, 2, now))
		return;
	struct sink s = begin(g, d, now, 2);
	memcpy(&ctp_ring_slot(g->ring, g->ring_capacity, s.slot)->w1, said, 8);
	memcpy(&ctp_ring_slot(g->ring, g->ring_capacity, s.slot + 1)->w1, said + 8, 8);
	ctp_ring_publish(g->thread, s.slot + 2);
}

void events_record(struct thread_ctx *g, const struct ctp_event_info *event, const uint64_t *words,
		   uint64_t now)
{
	uint64_t said[2];
	if (CTP_LIKELY(is_short(event, words, said)))
		record_short(g, event, said, now);
	else
		record_more(g, event, words, now);
	if (CTP_UNLIKELY(!(g->thread->flags & CTP_THREAD_EVENTS)))
		g->thread->flags |= CTP_THREAD_EVENTS;
}

static void record_event(struct ctp_event_info *event, const uint64_t *words)
{
	struct thread_ctx *self = cpu_self();
	int e = self ? 0 : errno;
	struct thread_ctx *g = ctp_tracer->attached ? guest_enter() : NULL;
	if (CTP_LIKELY(g != NULL)) {
		events_record(g, event, words, emit_now());
		guest_leave(g);
	} else if (self && ctp_tracer->attached) {
		ctp_add64(&ctp_tracer->region.ext->lost_unslotted, 1);
	}
	if (CTP_UNLIKELY(!self))
		errno = e;
}

void events_signal(struct ctp_event_info *event, const uint64_t *words)
{
	unsigned on = ctp_load16(&event->u.by.on);
	if (CTP_LIKELY(on & CTP_EVENT_ON_RECORDED))
		record_event(event, words);
	if (CTP_UNLIKELY(on & CTP_EVENT_ON_PROBED))
		probes_call(event, words);
}
