// SPDX-License-Identifier: MIT
//
// Decodes records of one or two slots. What a short switch leaves out (the outgoing
// coroutine and its number) comes from the cursor. The slots may hold anything; only their
// count is trusted.
#include "ctp/record.h"

#define SHORT_STACK_MASK ((1u << CTP_SHORT_STACK_BITS) - 1)

unsigned ctp_record_read(struct ctp_cursor *c, const struct ctp_record *r, uint64_t n, struct ctp_event *e)
{
	unsigned slots = n ? ctp_record_slots(r, n) : 0, kind = slots ? ctp_record_kind(r) : 0;
	struct ctp_cursor was = *c;
	if (!slots) {
		slots = n ? ctp_record_reserved_slots(r, n) : 0;
		if (slots)
			*e = (struct ctp_event){.kind = (uint8_t)ctp_record_kind(r),
						.time = c->time = ctp_record_time(c, r)};
		return slots;
	}
	ctp_cursor_pass(c, r);
	*e = (struct ctp_event){.time = c->time, .falls = ((c->time ^ r->w0 >> 8) & CTP_TIME_MASK) != 0};
	if (slots == 1) {
		e->kind = CTP_EV_SWITCH;
		e->how = (uint8_t)(kind - CTP_EV_SHORT);
		e->a = was.current;
		e->b = c->current;
		e->a_n = (was.n + 1) & CTP_SHORT_MASK;
		e->b_n = c->n;
		e->stack = r->w1 >> CTP_SHORT_BITS & SHORT_STACK_MASK;
		return 1;
	}
	if (ctp_kind_is_event(kind)) {
		e->kind = CTP_EV_USER;
		e->a = r[1].w0 >> 16 & CTP_ID_MASK;
		e->value = ctp_event_row_of(kind, r[1].w0 >> 8 & 0xff);
		return slots;
	}
	e->kind = (uint8_t)kind;
	e->how = r[1].w0 >> 8 & 0xff;
	e->a = r[1].w0 >> 16 & CTP_ID_MASK;
	e->b = r->w1 & CTP_ID_MASK;
	e->stack = (uint32_t)(r->w1 >> CTP_ID_BITS);
	e->value = r[1].w1;
	e->full = true;
	if (kind == CTP_EV_SWITCH) {
		e->a_n = (uint32_t)e->value;
		e->b_n = (uint32_t)(e->value >> 32);
	}
	return slots;
}

// Numbers are compared by their low bits. What looks a little behind is behind, unless there
// has been time to go all the way round: no switch takes less than a tick.
int64_t ctp_number_ahead(uint64_t known, uint64_t known_time, uint32_t n, unsigned bits, uint64_t time)
{
	uint64_t mask = (1ULL << bits) - 1, on = (n - known) & mask, back = (known - n) & mask;
	bool round = time > known_time && time - known_time > on;
	return back < 1ULL << (bits - 3) && (!on || !round) ? -(int64_t)back : (int64_t)on;
}
