// SPDX-License-Identifier: MIT
//
// Copied ring memory is reduced to what a trace may contain: whole records of known kinds,
// with times that do not decrease.
#include "engine/record/validate.h"

#include <string.h>

// Nearly all records are switches in one slot: how many of n slots are, from r on. Their times
// are made not to fall.
static uint32_t shorts(struct ctp_cursor *c, struct ctp_record *r, uint32_t n)
{
	uint64_t time = c->time;
	uint32_t i = 0;
	for (; i < n && ctp_kind_is_short(ctp_record_kind(r + i)); i++) {
		uint64_t on = ((r[i].w0 >> 8) - time) & CTP_TIME_MASK;
		if (on >> (CTP_TIME_BITS - 1))
			r[i].w0 = (r[i].w0 & 0xff) | time << 8;
		else
			time += on;
	}
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

uint32_t validate_records(struct ctp_record *slots, uint32_t n, struct ctp_cursor *c, struct writer_batch *b,
			  uint64_t *bad)
{
	uint32_t i = 0, takes;
	b->slots = slots;
	for (; i < n; i += takes) {
		struct ctp_record *r = &slots[i];
		uint32_t records = takes = shorts(c, r, n - i);
		if (!takes) {
			takes = one_long(c, r, n - i);
			records = takes != 0;
		}
		if (!takes && i && i + 1 == n && ctp_kind_is_long(ctp_record_kind(r)))
			break;
		if (b->n != i && takes)
			memmove(slots + b->n, r, takes * sizeof(*r));
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
