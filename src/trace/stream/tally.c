// SPDX-License-Identifier: MIT
//
// Counts the records of a stream without decoding them. Nearly all are switches in one
// slot. It checks their order on the way: a number that does not rise, or a time that
// falls, makes a record corrupt.
#include "trace/stream/tally.h"

static bool falls(const struct ctp_cursor *after, const struct ctp_record *r)
{
	return ((after->time ^ r->w0 >> 8) & CTP_TIME_MASK) != 0;
}

static int short_switch(struct tally *t, struct ctp_cursor *c, const struct ctp_record *r)
{
	ctp_cursor_pass(c, r);
	t->order.wrong += falls(c, r);
	return c->current ? order_entered(&t->order, c->current, c->n, c->time) : 0;
}

// Any other. Returns the slots it took.
static unsigned other(struct tally *t, struct ctp_cursor *c, const struct ctp_record *r, size_t n, int *error)
{
	struct ctp_event e;
	unsigned took = ctp_record_read(c, r, n, &e), kind = ctp_record_kind(r);
	if (!took) {
		t->kinds[ctp_kind_is_long(kind) ? 0 : kind]++;
		return 1;
	}
	t->kinds[e.kind]++;
	t->order.wrong += e.falls;
	if (e.kind == CTP_EV_SWITCH && e.b)
		*error = order_entered(&t->order, e.b, e.b_n, e.time);
	return took;
}

int tally_slots(struct tally *t, struct ctp_cursor *cursor, const struct ctp_record *slots, size_t n)
{
	struct ctp_cursor c = *cursor;
	uint64_t switches = 0, others = 0;
	int error = 0;
	for (size_t i = 0; !error && i < n;) {
		if (ctp_kind_is_short(ctp_record_kind(slots + i))) {
			error = short_switch(t, &c, slots + i++);
			switches++;
		} else {
			i += other(t, &c, slots + i, n - i, &error);
			others++;
		}
	}
	t->kinds[CTP_EV_SWITCH] += switches;
	t->events += switches + others;
	*cursor = c;
	return error;
}
