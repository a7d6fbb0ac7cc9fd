// SPDX-License-Identifier: MIT
//
// tally.h - counts of one thread's stream: all that is needed of it where there are last tables.
#pragma once

#include "trace/stream/order.h"

struct tally {
	uint64_t kinds[256]; // what is no record counts as one of its kind, or of 0 where a part of one is
			     // there
	uint64_t events;
	struct order order;
};

// Takes whole records and goes past them with *cursor. 0 or -ENOMEM.
int tally_slots(struct tally *t, struct ctp_cursor *cursor, const struct ctp_record *slots, size_t n);
