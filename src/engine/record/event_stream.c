// SPDX-License-Identifier: MIT
//
// Takes an event's fields out of the slots of its record (ctp/events.h), and lays them out as the event's
// class describes them to CTF readers. The slots are whole records, but their contents are the program's:
// lengths are bounded here.
#include "engine/record/event_stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
	HEAD_BYTES = 4 + 8 + 8,                        // id, time, coroutine
	EVENT_MOST = HEAD_BYTES + CTP_EVENT_ROOM + 64, // the ends of texts that were cut, zeros
	SAID_FIRST = 16,                               // bytes in the first two slots
	SAID_REST = 15,                                // in each other
};

void event_packet_deinit(struct event_packet *p)
{
	free(p->bytes);
	*p = (struct event_packet){0};
}

// What the record's slots say, one after the other.
static size_t said(const struct ctp_record *r, unsigned slots, unsigned char *out)
{
	size_t n = SAID_FIRST;
	memcpy(out, &r[0].w1, 8);
	memcpy(out + 8, &r[1].w1, 8);
	for (unsigned i = 2; i < slots; i++, n += SAID_REST)
		memcpy(out + n, (const unsigned char *)&r[i] + 1, SAID_REST);
	return n;
}

static unsigned char *put(unsigned char *to, const void *bytes, size_t n)
{
	memcpy(to, bytes, n);
	return to + n;
}

// A text ends where it holds a zero; "..." says that it was cut.
static unsigned char *put_text(unsigned char *to, const unsigned char *text, size_t n, bool cut)
{
	to = put(to, text, strnlen((const char *)text, n));
	if (cut)
		to = put(to, "...", 3);
	return put(to, "", 1);
}

// A text, or bytes, of which `left` are there at most. Returns what it took.
static size_t put_piece(unsigned char **to, unsigned kind, const unsigned char *at, size_t left)
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
		*to = put_text(*to, at + head, n, length & CTP_FIELD_CUT);
	} else {
		uint16_t kept = (uint16_t)n;
		memcpy(&whole, at + 2, 4);
		*to = put(*to, &whole, 4);
		*to = put(*to, &kept, 2);
		*to = put(*to, at + head, n);
	}
	return left < head ? left : head + n;
}

static unsigned char *put_fields(unsigned char *to, const struct event_class *k, const struct ctp_record *r,
				 unsigned slots)
{
	unsigned char says[CTP_EVENT_ROOM]; // n bytes of it
	size_t n = said(r, slots, says), at = 0;
	for (unsigned i = 0; i < k->nfields; i++) {
		const struct event_field *f = &k->fields[i];
		if (f->kind == CTP_FIELD_TEXT || f->kind == CTP_FIELD_BYTES) {
			at += put_piece(&to, f->kind, says + at, n - at);
			continue;
		}
		to = put(to, at + f->bytes <= n ? says + at : (const unsigned char[8]){0}, f->bytes);
		at = at + f->bytes <= n ? at + f->bytes : n;
	}
	return to;
}

static unsigned char *put_event(unsigned char *to, const struct event_class *k, uint64_t time,
				const struct ctp_record *r, unsigned slots)
{
	uint64_t who = r[1].w0 >> 16 & CTP_ID_MASK;
	to = put(to, &k->id, 4);
	to = put(to, &time, 8);
	to = put(to, &who, 8);
	if (!k->numbers_bytes || k->numbers_bytes > SAID_FIRST + (slots - 2) * SAID_REST)
		return put_fields(to, k, r, slots);
	said(r, slots, to); // numbers stand there as they stand here
	return to + k->numbers_bytes;
}

static bool grow(struct event_packet *p)
{
	size_t room = p->room ? 2 * p->room : 16384;
	unsigned char *more = realloc(p->bytes, room);
	if (!more)
		return false;
	p->bytes = more;
	p->room = room;
	return true;
}

int event_packet_fill(struct event_packet *p, const struct writer_batch *b, struct event_rows *rows,
		      struct event_classes *classes, const struct ctp_region *region)
{
	struct ctp_cursor cursor = {.time = b->start.time};
	size_t n = 0; // not in *p: most of the time goes here
	uint32_t events = 0;
	p->unknown = 0;
	for (uint32_t at = 0, slots; at < b->n_events; at += slots) {
		const struct ctp_record *r = b->events + at;
		unsigned row = ctp_event_row_of(ctp_record_kind(r), r[1].w0 >> 8 & 0xff);
		const struct event_class **k = row < CTP_EVENTS_MAX ? &rows->of[row] : NULL;
		slots = 2 + (unsigned)(r[1].w0 >> 56);
		cursor.time = ctp_record_time(&cursor, r);
		if (k && !*k)
			*k = event_classes_of(classes, region, row);
		if (!k || !*k) {
			p->unknown++;
			continue;
		}
		if (p->room - n < EVENT_MOST && !grow(p))
			return -ENOMEM;
		if (!events++)
			p->begin = cursor.time;
		p->end = cursor.time;
		n = (size_t)(put_event(p->bytes + n, *k, cursor.time, r, slots) - p->bytes);
	}
	p->n = n;
	p->events = events;
	return 0;
}
