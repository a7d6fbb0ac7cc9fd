// SPDX-License-Identifier: MIT
//
// woken.h - does a coroutine that says nothing of a descriptor wait for it? It did
// not try it in vain in its last slice, nor register it there; but where it stands
// an event of it woke it before, or the registration leads to it.
#pragma once

#include <stdbool.h>

#include "ctp/ctp.h"

// An event of F resumed C from the very place where it stands now.
static inline bool ctp_stands_there(const struct ctp_fd *f, const struct ctp_state *c)
{
	return c->stack && f->learned == c->id && f->learned_stack == c->stack;
}

// Had what C may have waited for already: something was read or written. It may have what it
// wanted, then, and stand in a mailbox or a pool, which is often one place for all that can come.
static inline bool ctp_was_served(const struct ctp_fd *f, const struct ctp_state *c)
{
	bool set = f->kind == CTP_FD_TIMERFD || f->kind == CTP_FD_EVENTFD; // written by who wakes, not by who waits
	return (f->last_in || (f->last_out && !set)) && f->reg_time < c->since;
}
