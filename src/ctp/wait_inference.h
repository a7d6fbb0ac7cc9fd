// SPDX-License-Identifier: MIT
//
// wait_inference.h - does a coroutine that says nothing of a descriptor wait for it? It did
// not try it in vain in its last slice, nor register it there; but where it stands
// an event of it woke it before, or the registration leads to it.
#pragma once

#include <stdbool.h>
#include <sys/epoll.h>

#include "ctp/ctp.h"

// An event of F resumed C from the very place where it stands now.
static inline bool ctp_stands_there(const struct ctp_fd *f, const struct ctp_state *c)
{
	return c->stack && f->learned == c->id && f->learned_stack == c->stack;
}

// An event of F woke C there, and C ran and left what had come: it never read F (or wrote, if that is what the
// event was of), or did so until EAGAIN and has read and written nothing since. That is no read that stopped
// short: C does not want it now.
static inline bool ctp_declined(const struct ctp_fd *f, int fd, const struct ctp_state *c)
{
	uint64_t key = (uint64_t)(uint32_t)fd << 32 | f->gen;
	bool out = (f->reg_events & EPOLLOUT) && !(f->reg_events & EPOLLIN);
	return f->event_time < c->since && (!(out ? f->last_out : f->last_in) || c->tried == key);
}

// It stands where events of descriptors with which it had nothing to do resumed it: in a pool, or in
// a mailbox. What it tried last, or registered, is not what it waits for, but one of many.
static inline bool ctp_in_pool(const struct ctp_state *c)
{
	return (c->flags & CTP_STATE_POOLED) && c->stack && c->called == c->stack;
}

// Had what C may have waited for already: something was read or written. It may have what it
// wanted, then, and stand in a mailbox or a pool, which is often one place for all that can come.
static inline bool ctp_was_served(const struct ctp_fd *f, const struct ctp_state *c)
{
	bool set = f->kind == CTP_FD_TIMERFD || f->kind == CTP_FD_EVENTFD; // written by who wakes, not by who waits
	return (f->last_in || (f->last_out && !set)) && f->reg_time < c->since;
}

// Events of it are mostly for somebody else than who goes on after one: a new connection's coroutine, which may
// come out of a pool, or whoever the loop was woken for.
static inline bool ctp_wakes_others(const struct ctp_fd *f)
{
	return (f->flags & CTP_FD_LISTENS) || f->kind == CTP_FD_EVENTFD || f->kind == CTP_FD_TIMERFD || f->kind == CTP_FD_SIGNALFD ||
	       f->kind == CTP_FD_PIPE;
}

// F's registration leads to C, which says nothing. Does C wait for it? Yes by the registration's data; because an event
// of F woke it before, only where it stood then, and not for what it has left to others to accept, read or set.
static inline bool ctp_leads_here(const struct ctp_fd *f, const struct ctp_state *c)
{
	bool own = (f->last_in & ~CTP_FD_SEVERAL) == c->id ||
		   (f->kind == CTP_FD_TIMERFD && (f->last_out & ~CTP_FD_SEVERAL) == c->id);
	return f->learned != c->id || (ctp_stands_there(f, c) && (own || !ctp_wakes_others(f)));
}
