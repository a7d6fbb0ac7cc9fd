// SPDX-License-Identifier: MIT
//
// Copied ring memory is reduced to what a trace may contain: whole records of known kinds,
// with times that do not decrease.
#include "engine/record/validate.h"

#include <string.h>

// A time that falls becomes the one before it.
static inline void settle(struct ctp_record *r, uint64_t *time)
{
	uint64_t on = ((r->w0 >> 8) - *time) & CTP_TIME_MASK;
	if (on >> (CTP_TIME_BITS - 1))
		r->w0 = (r->w0 & 0xff) | *time << 8;
	else
		*time += on;
}

// Nearly all records are switches in one slot: how many of n slots are, from r on.
static uint32_t shorts(struct ctp_cursor *c, struct ctp_record *r, uint32_t n)
{
	uint64_t time = c->time;
	uint32_t i = 0;
	for (; i < n && ctp_kind_is_short(ctp_record_kind(r + i)); i++)
		settle(r + i, &time);
	c->time = time;
	if (i)
		ctp_cursor_pass(c, r + i - 1);
	return i;
}

// A record in two slots at r, of n that are there. 0: it is none, or cut.
static uint32_t one_long(struct ctp_cursor *c, struct ctp_record *r, uint32_t n)
{
	if (ctp_record_slots(r, n) != 2)
		return 0;
	ctp_cursor_pass(c, r);
	r->w0 = (r->w0 & 0xff) | c->time << 8;
	return 2;
}

// Events of the program's own, as many as follow one another from r on, of n slots that are there: their
// slots. 0: there is none, or it is cut.
static uint32_t events(struct ctp_cursor *c, struct ctp_record *r, uint32_t n, uint32_t *records)
{
	uint64_t time = c->time;
	uint32_t i = 0, slots;
	for (*records = 0; i < n && ctp_kind_is_event(ctp_record_kind(r + i)); i += slots, ++*records) {
		slots = ctp_record_marked_slots(r + i, n - i);
		if (!slots || slots > CTP_EVENT_SLOTS)
			break;
		settle(r + i, &time);
	}
	c->time = time;
	return i;
}

static void keep_events(struct writer_batch *b, const struct ctp_record *r, uint32_t slots, uint32_t records)
{
	if (!b->events)
		return;
	memcpy(b->events + b->n_events, r, slots * sizeof(*r));
	b->n_events += slots;
	b->event_records += records;
}

// Does the record at r go on behind the n slots that are there?
static bool is_cut(const struct ctp_record *r, uint32_t n)
{
	unsigned kind = ctp_record_kind(r);
	if (ctp_kind_is_long(kind))
		return n == 1;
	return ctp_kind_is_event(kind) && (n == 1 || n < 2 + (r[1].w0 >> 56));
}

uint32_t validate_records(struct ctp_record *slots, uint32_t n, struct ctp_cursor *c, struct writer_batch *b,
			  uint64_t *bad)
{
	struct ctp_record *kept = slots;
	uint32_t i = 0, takes, records;
	for (; i < n; i += takes) {
		struct ctp_record *r = &slots[i];
		if ((takes = events(c, r, n - i, &records))) {
			keep_events(b, r, takes, records);
			continue;
		}
		records = takes = shorts(c, r, n - i);
		if (!takes) {
			takes = one_long(c, r, n - i);
			records = takes != 0;
		}
		if (!takes && i && is_cut(r, n - i))
			break;
		if (kept != r && takes)
			memmove(kept, r, takes * sizeof(*r));
		kept += takes;
		b->n += takes;
		b->records += records;
		*bad += !takes;
		if (!takes) // of a kind that nobody here writes: all of it
			takes = ctp_record_reserved_slots(r, n - i);
		takes += !takes;
	}
	b->end_time = c->time;
	return i;
}
