// SPDX-License-Identifier: MIT
//
// lost.h - to which coroutines does nothing lead? A forward mark, as a conservative garbage collector
// makes it: from static storage, live stacks, registers and what the kernel holds.
#pragma once

#include "find/contexts.h"

struct lost {
	bool *reached; // of contexts.v, in the same order
	size_t n;
	struct span_list unreached; // blocks of malloc's in use to which nothing leads, by address
	const char *undecided;      // why "not reached" means nothing; NULL: it does mean something
	char why[200];              // room for that
};

// Does the kernel still give its data to the program? Not that of a one-shot that fired: whoever arms it
// again sets the data anew.
static inline bool lost_row_leads(uint32_t events)
{
	return events & CTP_REG_EVENTS;
}

// `held`: words that the kernel gives back to the program (the data of epoll registrations). 0 or -ENOMEM.
int lost_mark(struct lost *l, const struct contexts *c, const uint64_t *held, size_t nheld);
void lost_deinit(struct lost *l);
