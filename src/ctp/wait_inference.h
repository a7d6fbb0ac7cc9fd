// SPDX-License-Identifier: MIT
//
// wait_inference.h - does a coroutine wait for a descriptor that it did not name? In its last
// slice it neither tried the descriptor in vain nor registered it, but an event of the
// descriptor resumed it where it is suspended, or the registration leads to it. ctp-run and
// ctp-analyze judge by the same functions.
#pragma once

#include <stdbool.h>
#include <sys/epoll.h>

#include "ctp/late.h"

// An event of F resumed C from the very place where it stands now.
static inline bool ctp_stands_there(const struct ctp_fd *f, const struct ctp_state *c)
{
	return c->stack && f->learned == c->id && f->learned_stack == c->stack;
}

// C is suspended where it first waited for F, whose registration leads to C, or is its own. No event of F is
// known to have resumed anybody: two registrations with the same data cannot be told apart by their events.
static inline bool ctp_stands_as_first(const struct ctp_fd *f, const struct ctp_state *c)
{
	uint64_t leads = f->leads & CTP_ID_MASK;
	return c->stack && !f->learned && f->learned_stack == c->stack &&
	       (leads == c->id || (!leads && f->reg_by == c->id));
}

// An event of F woke C there, and C ran and left what had come: it never read F (or wrote, if that is what
// the event was of), or did so until EAGAIN and has read and written nothing since. That is no read that
// stopped short: C does not want it now.
static inline bool ctp_declined(const struct ctp_fd *f, int fd, const struct ctp_state *c)
{
	uint64_t key = (uint64_t)(uint32_t)fd << 32 | f->gen;
	bool out = (f->reg_events & EPOLLOUT) && !(f->reg_events & EPOLLIN);
	return f->event_time < c->since && (!(out ? f->last_out : f->last_in) || c->tried == key);
}

// So stands C, and EAGAIN told it to wait for F again, or it has read some of F, but not until EAGAIN.
static inline bool ctp_waits_as_first(const struct ctp_fd *f, int fd, const struct ctp_state *c,
				      const struct ctp_wait *wait)
{
	bool more = wait ? (wait->how & CTP_WAIT_EAGAIN) :
			   (f->last_in & ~CTP_FD_SEVERAL) == c->id && !ctp_declined(f, fd, c);
	return more && ctp_stands_as_first(f, c);
}

// It stands where events of descriptors with which it had nothing to do resumed it: in a pool, or in
// a mailbox. What it tried last, or registered, is not what it waits for, but one of many.
static inline bool ctp_in_pool(const struct ctp_state *c)
{
	return (c->flags & CTP_STATE_POOLED) && c->stack && c->called == c->stack;
}

// C wanted the connections of a listener, and there was no descriptor for one (EMFILE). That it waits for
// them, rather than for a descriptor, is not sure.
static inline bool ctp_wait_full(const struct ctp_wait *wait)
{
	return wait && (wait->how & CTP_WAIT_FULL) && !(wait->how & CTP_WAIT_EAGAIN);
}

// F is edge-triggered, an event of it resumed C, or came together with others' while its registration leads
// to C or nobody knows where, and C alone has read some of it, but not until EAGAIN. Wherever it stands, it
// may wait for the next edge: or for something else, if it will find the rest by itself.
static inline bool ctp_stopped_short(const struct ctp_fd *f, const struct ctp_state *c)
{
	const uint32_t in = EPOLLIN | EPOLLET;
	uint64_t whose = f->learned ? f->learned : f->leads & CTP_ID_MASK;
	return (f->reg_events & in) == in && (!whose || whose == c->id) && f->last_in == c->id && !c->tried &&
	       !c->nwaits && f->event_time && f->event_time < c->since && !ctp_in_pool(c);
}

// F is edge-triggered and tells of room, and C alone has written to it, last and all that it gave, after F's
// last event. It stands elsewhere than where that resumed it, without a known wait: perhaps for room, of
// which no edge will tell, as none was missing.
static inline bool ctp_sent_short(const struct ctp_fd *f, const struct ctp_state *c)
{
	const uint32_t out = EPOLLOUT | EPOLLET;
	uint64_t whose = f->learned ? f->learned : f->leads & CTP_ID_MASK;
	return f->reg_epfd >= 0 && (f->reg_events & out) == out &&
	       !(f->flags & (CTP_FD_MANY | CTP_FD_MANYREGS)) && (!whose || whose == c->id) &&
	       f->last_out == c->id && f->latest == CTP_FD_WRITTEN_LAST && !c->tried && !c->nwaits &&
	       f->event_time && f->event_time < c->since && !ctp_stands_there(f, c) && !ctp_in_pool(c);
}

// F's one registration asks for nothing any more: an EPOLL_CTL_MOD to 0, or to errors and the peer's end
// alone.
static inline bool ctp_masked(const struct ctp_fd *f)
{
	const uint32_t beside = EPOLLRDHUP | EPOLLERR | EPOLLHUP;
	return f->reg_epfd >= 0 && !(f->flags & CTP_FD_MANYREGS) &&
	       !(f->reg_events & CTP_REG_EVENTS & ~beside);
}

// F's registration went with its last event: it was a one-shot, or it was taken out, or asks for nothing now.
// C alone has read F since, not until EAGAIN, and stands without a known wait. It may have forgotten to arm F
// again; or it does not want more of F now.
static inline bool ctp_left_unread(const struct ctp_fd *f, const struct ctp_state *c)
{
	const uint32_t once = EPOLLIN | EPOLLONESHOT;
	bool gone = f->reg_epfd < 0 || ctp_masked(f) ||
		    ((f->reg_events & once) == once && f->event_time >= f->reg_time);
	uint64_t whose = f->learned ? f->learned : f->leads & CTP_ID_MASK;
	bool untold = f->event_time < c->since || f->reg_epfd < 0; // or the last one was dropped
	return gone && f->reg_time && f->event_time && untold && f->last_in == c->id &&
	       (!whose || whose == c->id) && !c->tried && !c->nwaits && !ctp_in_pool(c);
}

// Was it registered, and not only meant to be (by an EPOLL_CTL_MOD that failed)?
static inline bool ctp_was_registered(const struct ctp_fd *f)
{
	return f->reg_time && !(f->flags & CTP_FD_REFUSED);
}

// F is registered nowhere. Somebody meant to do that when C had suspended, or C did just before it suspended
// here, by an EPOLL_CTL_MOD that failed; and C alone has used F, and wrote last as far as is known. It names
// no wait, but for the answer.
static inline bool ctp_left_refused(const struct ctp_fd *f, const struct ctp_state *c)
{
	bool own = f->reg_by == c->id && !f->learned && c->stack && f->learned_stack == c->stack;
	return f->reg_epfd < 0 && (f->flags & CTP_FD_REFUSED) && f->last_out == c->id &&
	       (!f->last_in || f->last_in == c->id) && f->event_time < c->since && !c->tried && !c->nwaits &&
	       !ctp_in_pool(c) && (own || f->reg_time >= ctp_state_latest(c));
}

// F's last registration asked for nothing that WAIT waits for, and went by `del`; F's last event came of it.
// So that was another's event.
static inline bool ctp_told_another(const struct ctp_fd *f, const struct ctp_wait *wait,
				    const struct ctp_cand *del)
{
	const struct ctp_fd *was = &del->was;
	uint32_t needed = wait->events & CTP_REG_EVENTS & ~(uint32_t)(EPOLLRDHUP | EPOLLERR | EPOLLHUP);
	return del->kind == CTP_CAND_DEL && del->call == CTP_CALL_EPOLL_DEL && del->gen == f->gen &&
	       f->reg_epfd < 0 && was->event_time == f->event_time && was->reg_time <= was->event_time &&
	       (was->reg_events & CTP_REG_EVENTS) && !(was->reg_events & needed);
}

// Had what C may have waited for already: something was read or written. It may have what it
// wanted, then, and stand in a mailbox or a pool, which is often one place for all that can come.
static inline bool ctp_was_served(const struct ctp_fd *f, const struct ctp_state *c)
{
	bool set = f->kind == CTP_FD_TIMERFD ||
		   f->kind == CTP_FD_EVENTFD; // the waker writes these, not the waiter
	return (f->last_in || (f->last_out && !set)) && f->reg_time < c->since;
}

// The coroutine that runs after one of its events is mostly not the one that waited for it: a listener's
// event is for a new connection's coroutine, which may come out of a pool; an eventfd wakes the loop for any.
static inline bool ctp_wakes_others(const struct ctp_fd *f)
{
	return (f->flags & CTP_FD_LISTENS) || f->kind == CTP_FD_EVENTFD || f->kind == CTP_FD_TIMERFD ||
	       f->kind == CTP_FD_SIGNALFD || f->kind == CTP_FD_PIPE;
}

// F's registration leads to C, which says nothing. Does C wait for it? Yes by the registration's data;
// because an event of F woke it before, only where it stood then, and not for what it has left to others to
// accept, read or set.
static inline bool ctp_leads_here(const struct ctp_fd *f, const struct ctp_state *c)
{
	bool own = (f->last_in & ~CTP_FD_SEVERAL) == c->id ||
		   (f->kind == CTP_FD_TIMERFD && (f->last_out & ~CTP_FD_SEVERAL) == c->id);
	return f->learned != c->id || (ctp_stands_there(f, c) && (own || !ctp_wakes_others(f)));
}

// C has had something of F, and did not say in its last slice that it wants more.
static inline bool ctp_may_be_done(const struct ctp_fd *f, const struct ctp_state *c,
				   const struct ctp_wait *wait)
{
	return !wait && ctp_was_served(f, c);
}

// C named two descriptors in its last slice. Did EAGAIN tell it to wait for the first alone? What it
// registered besides may be the loop's own.
static inline bool ctp_told_alone(const struct ctp_wait *wait, const struct ctp_wait *other)
{
	return wait && (((wait->how & CTP_WAIT_EAGAIN) && !(other->how & CTP_WAIT_EAGAIN)) ||
			(other->how == CTP_WAIT_FULL && !ctp_wait_full(wait)));
}

// C named F in its last slice, or stands where events of F resumed it. Elsewhere it may wait for anything.
static inline bool ctp_waits_there(const struct ctp_fd *f, const struct ctp_state *c,
				   const struct ctp_wait *wait)
{
	return wait || (c->stack && f->learned_stack == c->stack);
}

// How an event of F, or a place of F in a polled set, would resume C.
enum ctp_link {
	CTP_LINK_NONE,    // not known to
	CTP_LINK_OWN,     // C registered F itself in its last slice
	CTP_LINK_SET,     // F stood in a set that was polled since, and events of F resumed C there
	CTP_LINK_DATA,    // the registration's data points into C's memory
	CTP_LINK_EVENTS,  // events of F resumed C there
	CTP_LINK_CONTEXT, // the registration's data points to what holds C's context, and nobody else is
			  // known
};

// What only the caller can tell. ctp-run reads the kernel and the memory, ctp-analyze the tables of the end.
struct ctp_link_seen {
	bool registered; // F was in an epoll set
	bool polled;     // F was given to poll or select since C suspended
	bool points_in;  // the registration's data points into C's memory
};

// P2, as far as F's entry (before its end) tells: one judgement for ctp-run and ctp-analyze. `wait`: C's last
// slice named F so, or NULL. What weakens a link (a pool, ctp_may_be_done, another wait) is for the caller.
static inline enum ctp_link ctp_wait_link(const struct ctp_fd *f, const struct ctp_state *c,
					  const struct ctp_wait *wait, const struct ctp_link_seen *seen)
{
	bool resumed = f->learned == c->id && ctp_waits_there(f, c, wait);
	const uint64_t others[] = {f->learned, f->waiter[0] & CTP_ID_MASK, f->waiter[1] & CTP_ID_MASK};
	bool anothers = false; // what holds a context is guessed by what lies near; these are not
	for (unsigned i = 0; i < sizeof(others) / sizeof(*others); i++)
		anothers |= others[i] && others[i] != c->id;
	if (wait && (wait->how & CTP_WAIT_REGISTERED))
		return CTP_LINK_OWN;
	if (!seen->registered)
		return seen->polled && resumed ? CTP_LINK_SET : CTP_LINK_NONE;
	if (seen->points_in)
		return CTP_LINK_DATA;
	if (resumed)
		return CTP_LINK_EVENTS;
	return (f->leads & CTP_ID_MASK) == c->id && !anothers ? CTP_LINK_CONTEXT : CTP_LINK_NONE;
}

// P2 of what is open. C registered F itself, but an event of F has come since then, and led elsewhere, as far
// as F's entry tells: the loop may have noted it for a C that waits for something else first.
static inline bool ctp_event_noted(const struct ctp_fd *f, const struct ctp_state *c,
				   const struct ctp_wait *wait)
{
	return wait && (wait->how & CTP_WAIT_REGISTERED) && f->event_time && f->event_time >= f->reg_time &&
	       f->learned != c->id && (f->leads & CTP_ID_MASK) != c->id;
}

// C has set the timer F: the last time, or as who made it.
static inline bool ctp_timer_set_by(const struct ctp_fd *f, uint64_t c)
{
	return ((f->flags & CTP_FD_OWN_SET) && f->opener == c) || (f->last_out & ~CTP_FD_SEVERAL) == c;
}

// So it has, and did so for itself: a timer that others set too, and that has expired, may be one that they
// share.
static inline bool ctp_timer_own(const struct ctp_fd *f, uint64_t c)
{
	return ctp_timer_set_by(f, c) && !((f->last_out & CTP_FD_SEVERAL) && f->last_in);
}

// C has read an expiry of F before. If F is disarmed now, C may have done so on purpose: others arm it when
// there is something to wait for.
static inline bool ctp_timer_used(const struct ctp_fd *f, uint64_t c)
{
	return (f->last_in & ~CTP_FD_SEVERAL) == c;
}

// The number of the timerfd that C armed in its last slice; -1: none. Of a number, 16 bits.
static inline int ctp_timer_armed(const struct ctp_state *c)
{
	return c->armed && c->armed_in == (uint8_t)(c->changes - 1) ? c->armed - 1 : -1;
}

// Was the timer F never set since it was made?
static inline bool ctp_timer_never_set(const struct ctp_fd *f)
{
	return f->opened_how == CTP_CALL_TIMERFD && !f->last_out && !f->last_in;
}

// Is the timer F one that others made and set, last at least, for C? They may do so again.
static inline bool ctp_timer_of_others(const struct ctp_fd *f, uint64_t c)
{
	return f->opener != c && !ctp_timer_set_by(f, c) && !ctp_timer_never_set(f);
}

// Somebody registered F when C had suspended, and that leads to C; or nobody knows where it leads, but EAGAIN
// told C alone to wait for F: a loop that keeps its waiters by number.
static inline bool ctp_registered_for(const struct ctp_fd *f, const struct ctp_state *c,
				      const struct ctp_wait *wait)
{
	uint64_t leads = f->leads & CTP_ID_MASK, in = f->waiter[0] & CTP_ID_MASK,
		 out = f->waiter[1] & CTP_ID_MASK;
	bool alone = wait && (wait->how & CTP_WAIT_EAGAIN) && !leads && !f->learned &&
		     !(f->flags & (CTP_FD_MANY | CTP_FD_MANYREGS)) && (!in || in == c->id) &&
		     (!out || out == c->id);
	return f->reg_time >= ctp_state_latest(c) && f->reg_by != c->id && (leads == c->id || alone);
}

// C suspended for F, as far as can be known. noted: ctp_event_noted, and nothing shows that F's registration
// references C all the same.
static inline bool ctp_wait_firm(const struct ctp_fd *f, int fd, const struct ctp_state *c,
				 const struct ctp_wait *wait, bool noted)
{
	if (ctp_in_pool(c))
		return false;
	return (wait && (wait->how & CTP_WAIT_REGISTERED) && !noted) ||
	       (wait && (wait->how & CTP_WAIT_REFUSED) && (wait->how & CTP_WAIT_EAGAIN)) ||
	       ctp_wait_full(wait) || (ctp_stands_there(f, c) && (wait || !ctp_declined(f, fd, c))) ||
	       ctp_waits_as_first(f, fd, c, wait) || ctp_registered_for(f, c, wait);
}
