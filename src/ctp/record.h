// SPDX-License-Identifier: MIT
//
// record.h - records as events. A cursor is what a reader must know of a thread before its
// next record: which coroutine runs, and the base of short ids. Each packet of a trace begins
// with one, so that it can be read alone.
#pragma once

#include <stdbool.h>

#include "ctp/ctp.h"

#define CTP_TIME_BITS 56
#define CTP_TIME_MASK ((1ULL << CTP_TIME_BITS) - 1)

struct ctp_cursor {
	uint64_t time; // of the last record: 64 bits
	uint64_t near;
	uint64_t current; // entity that runs; 0: not known
	uint64_t native;  // the thread's own stack; 0: not known
	uint32_t n;       // low CTP_SHORT_BITS of current's number
};

// A record, whatever it took. Fields by kind, as in enum ctp_kind; a switch has kind CTP_EV_SWITCH, an event
// of the program's own CTP_EV_USER and its row as value.
struct ctp_event {
	uint64_t time;
	uint64_t a, b; // a switch: from and to
	uint64_t value;
	uint32_t stack;
	uint32_t a_n,
		b_n; // a switch: the numbers of the two changes; 32 bits of them if full, else CTP_SHORT_BITS
	uint8_t kind, how;
	bool full;
	bool falls; // it has a time before that of the one before it, and got that one's
};

static inline bool ctp_kind_is_short(unsigned kind)
{
	return kind > CTP_EV_SHORT && kind <= CTP_EV_SHORT + CTP_HOW_ONTOP;
}
static inline bool ctp_kind_is_long(unsigned kind)
{
	return kind >= CTP_EV_SWITCH && kind <= CTP_EV_SLEPT;
}

// A kind that a later ctp may give a meaning without a new layout.
static inline bool ctp_kind_is_reserved(unsigned kind)
{
	return (kind > CTP_EV_SLEPT && kind < CTP_EV_SHORT) || (kind > CTP_EV_REST && kind < CTP_EV_STATION);
}

// An event of the program's own.
static inline bool ctp_kind_is_event(unsigned kind)
{
	return kind >= CTP_EV_USER;
}

// How many slots a record takes whose second slot says so, 2 to CTP_RECORD_SLOTS. 0: it is none, or cut.
static inline unsigned ctp_record_marked_slots(const struct ctp_record *r, uint64_t n)
{
	if (n < 2 || ctp_record_kind(r + 1) != CTP_EV_REST)
		return 0;
	unsigned slots = 2 + (unsigned)(r[1].w0 >> 56);
	for (unsigned i = 2; i < slots; i++)
		if (i >= n || ctp_record_kind(r + i) != CTP_EV_REST)
			return 0;
	return slots;
}
#define CTP_RECORD_SLOTS 257u // the most that a record can take

// How many slots the record at r takes, of n that are there. 0: it is none, or cut.
static inline unsigned ctp_record_slots(const struct ctp_record *r, uint64_t n)
{
	unsigned kind = ctp_record_kind(r);
	if (ctp_kind_is_short(kind))
		return 1;
	if (ctp_kind_is_event(kind))
		return ctp_record_marked_slots(r, n);
	return ctp_kind_is_long(kind) && n > 1 && ctp_record_kind(r + 1) == CTP_EV_REST ? 2 : 0;
}

// How many slots a record of a reserved kind takes, 2 to CTP_RECORD_SLOTS: whoever does not know the
// kind goes past it. 0: it is none, or cut.
static inline unsigned ctp_record_reserved_slots(const struct ctp_record *r, uint64_t n)
{
	return ctp_kind_is_reserved(ctp_record_kind(r)) ? ctp_record_marked_slots(r, n) : 0;
}

// The time of a record, in 64 bits. One that falls is the one before.
static inline uint64_t ctp_record_time(const struct ctp_cursor *c, const struct ctp_record *r)
{
	uint64_t on = ((r->w0 >> 8) - c->time) & CTP_TIME_MASK;
	return on >> (CTP_TIME_BITS - 1) ? c->time : c->time + on;
}

// Goes past a record of which ctp_record_slots said that it is one. Returns what the
// cursor's `time` becomes.
static inline void ctp_cursor_pass(struct ctp_cursor *c, const struct ctp_record *r)
{
	unsigned kind = ctp_record_kind(r);
	c->time = ctp_record_time(c, r);
	if (ctp_kind_is_short(kind)) {
		uint64_t to = r->w1 & CTP_SHORT_MASK;
		c->current = to == CTP_SHORT_NATIVE ? c->native : to + c->near;
		c->n = (uint32_t)(r->w1 >> (64 - CTP_SHORT_BITS));
		return;
	}
	uint64_t a = r[1].w0 >> 16 & CTP_ID_MASK, b = r->w1 & CTP_ID_MASK;
	if (kind == CTP_EV_SWITCH) {
		c->current = b;
		c->n = (uint32_t)(r[1].w1 >> 32) & CTP_SHORT_MASK;
		if (r[1].w0 >> 56 & CTP_MARK_NEAR)
			c->near = ctp_near(b);
	} else if (kind == CTP_EV_THREAD) {
		c->native = c->current = a;
		c->n = 0;
	} else if (kind == CTP_EV_FINISH && c->current == a) {
		c->n = (c->n + 1) & CTP_SHORT_MASK;
	}
}

// Reads the record at r, of n slots that are there, and goes past it. Returns the slots it took,
// 0: it is none, or cut. Of a record of a reserved kind, kind and time alone are filled in.
unsigned ctp_record_read(struct ctp_cursor *c, const struct ctp_record *r, uint64_t n, struct ctp_event *e);

// An entity made its change number `known` at known_time. How many changes further is the one
// whose low bits are `n` (of so many `bits`), made at `time`? 1 is the next; 0 or less: it was before.
int64_t ctp_number_ahead(uint64_t known, uint64_t known_time, uint32_t n, unsigned bits, uint64_t time);

static inline unsigned ctp_event_bits(const struct ctp_event *e)
{
	return e->full ? 32 : CTP_SHORT_BITS;
}
