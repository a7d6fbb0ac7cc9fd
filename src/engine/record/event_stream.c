// SPDX-License-Identifier: MIT
//
// Takes what an event says out of the slots of its record (ctp/events.h), and lays it out as its class
// describes it to CTF readers. The slots are whole records, but what they say is the program's: lengths are
// bounded here.
#include "engine/record/event_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 4 + 8 + 8,                        // id, time, coroutine
	EVENT_MOST = HEAD_BYTES + CTP_EVENT_ROOM + 64, // the ends of texts that were cut, zeros
};

void event_packet_deinit(struct event_packet *p)
{
	free(p->bytes);
	*p = (struct event_packet){0};
}

// What the record's slots say, one after the other.
static size_t said(const struct ctp_record *r, unsigned slots, unsigned char out[CTP_EVENT_ROOM])
{
	size_t n = 16;
	memcpy(out, &r[0].w1, 8);
	memcpy(out + 8, &r[1].w1, 8);
	for (unsigned i = 2; i < slots; i++, n += 15)
		memcpy(out + n, (const unsigned char *)&r[i] + 1, 15);
	return n;
}

static void put(struct event_packet *p, const void *bytes, size_t n)
{
	memcpy(p->bytes + p->n, bytes, n);
	p->n += n;
}

// A text ends where it holds a zero; "..." says that it was cut.
static void put_text(struct event_packet *p, const unsigned char *text, size_t n, bool cut)
{
	put(p, text, strnlen((const char *)text, n));
	if (cut)
		put(p, "...", 3);
	put(p, "", 1);
}

// A text, or bytes, of which `left` are there at most. Returns what it took.
static size_t put_piece(struct event_packet *p, unsigned kind, const unsigned char *at, size_t left)
{
	static const unsigned char nothing[6];
	size_t head = kind == CTP_FIELD_BYTES ? 6 : 2, there = left;
	uint16_t length;
	uint32_t whole;
	if (left < head)
		at = nothing, there = head;
	memcpy(&length, at, 2);
	size_t n = length & ~CTP_FIELD_CUT;
	n = n < there - head ? n : there - head;
	n = n < CTP_FIELD_MOST ? n : CTP_FIELD_MOST;
	if (kind == CTP_FIELD_TEXT) {
		put_text(p, at + head, n, length & CTP_FIELD_CUT);
	} else {
		uint16_t kept = (uint16_t)n;
		memcpy(&whole, at + 2, 4);
		put(p, &whole, 4);
		put(p, &kept, 2);
		put(p, at + head, n);
	}
	return left < head ? left : head + n;
}

static void put_event(struct event_packet *p, const struct event_class *k, const struct ctp_event *e,
		      const struct ctp_record *r, unsigned slots)
{
	unsigned char says[CTP_EVENT_ROOM]; // n bytes of it
	size_t n = said(r, slots, says), at = 0;
	put(p, &k->id, 4);
	put(p, &e->time, 8);
	put(p, &e->a, 8);
	if (k->numbers_bytes && k->numbers_bytes <= n) { // they stand there as they stand here
		put(p, says, k->numbers_bytes);
		return;
	}
	for (unsigned i = 0; i < k->nfields; i++) {
		const struct event_field *f = &k->fields[i];
		if (f->kind == CTP_FIELD_TEXT || f->kind == CTP_FIELD_BYTES) {
			at += put_piece(p, f->kind, says + at, n - at);
			continue;
		}
		put(p, at + f->bytes <= n ? says + at : (const unsigned char[8]){0}, f->bytes);
		at = at + f->bytes <= n ? at + f->bytes : n;
	}
}

static bool has_room(struct event_packet *p)
{
	if (p->room - p->n >= EVENT_MOST)
		return true;
	size_t room = p->room ? 2 * p->room : 16384;
	unsigned char *more = realloc(p->bytes, room);
	if (!more)
		return false;
	p->bytes = more;
	p->room = room;
	return true;
}

int event_packet_fill(struct event_packet *p, const struct writer_batch *b, struct event_rows *rows,
		      struct event_classes *classes, const struct ctp_region *r)
{
	struct ctp_cursor cursor = {.time = b->start.time};
	struct ctp_event e;
	p->n = p->events = p->unknown = 0;
	for (uint32_t at = 0, slots; at < b->n_events; at += slots) {
		slots = ctp_record_read(&cursor, b->events + at, b->n_events - at, &e);
		const struct event_class **k = e.value < CTP_EVENTS_MAX ? &rows->of[e.value] : NULL;
		if (k && !*k)
			*k = event_classes_of(classes, r, (uint32_t)e.value);
		if (!k || !*k) {
			p->unknown++;
			continue;
		}
		if (!has_room(p))
			return -ENOMEM;
		p->begin = p->events ? p->begin : e.time;
		p->end = e.time;
		p->events++;
		put_event(p, *k, &e, b->events + at, slots);
	}
	return 0;
}
