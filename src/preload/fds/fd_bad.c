// SPDX-License-Identifier: MIT
//
// CTP006 and CTP024: a number that is no longer the same descriptor. A coroutine that reads or
// writes a number for which it waited in an earlier generation, while another coroutine waits
// for the new generation in the same direction, uses another's connection. A coroutine that
// closes or uses a number that was closed before, and was not given out since, did no harm by
// luck only. Loops that close every number are recognized by consecutive numbers that close
// refused at one place, and by the table.
#include <errno.h>

#include "ctp/rules.h"
#include "preload/coroutine/coroutine.h"
#include "preload/fds/fds.h"
#include "preload/coroutine/incident.h"

enum { IN_A_ROW = 3 };

// ------------------------------------------------------------- another generation

// Who but s waits for fd in this direction, now. 0: nobody that is known.
static uint64_t owner(const struct ctp_state *s, const struct ctp_fd *e, int fd, unsigned out)
{
	uint64_t hint = e->waiter[out], id = hint & CTP_ID_MASK;
	return hint && id != s->id && fd_waits_for(hint, fd, e->gen) ? id : 0;
}

static void reused(struct thread_ctx *g, struct ctp_incident *i, const struct ctp_state *s,
		   const struct ctp_fd *e, uint32_t was)
{
	bool known = e->closed_gen == was;
	bool meant = e->opened_how == CTP_CALL_DUP2 || e->opened_how == CTP_CALL_DUP3;
	if (meant || e->opener == s->id || (known && e->closer == s->id))
		return;
	i->rule = RULE_REUSED;
	i->who = s->id;
	i->gen = e->gen;
	i->other = known ? e->closer : 0;
	i->other_stack = known ? e->closer_stack : 0;
	i->other_time = known ? e->closed : 0;
	i->call = known ? e->closed_how : 0;
	i->value[0] = was;
	i->value[1] = e->opener;
	incident_note(g, i);
}

__attribute__((noinline)) void bad_touched(struct thread_ctx *g, int fd, uint32_t was, uint32_t events,
					   const struct frame *f)
{
	const struct ctp_state *s = g->current;
	const struct ctp_fd *e = fds_entry(fd);
	struct ctp_incident i = {.flags = CTP_BAD_IO, .fd = fd, .stack = guest_stack(g, f)};
	i.value[2] = owner(s, e, fd, events == EPOLLOUT);
	i.value[3] = events;
	reused(g, &i, s, e, was);
}

__attribute__((noinline)) void bad_woken(struct thread_ctx *g, const struct ctp_state *s, int fd,
					 uint32_t was)
{
	const struct ctp_fd *e = fds_entry(fd);
	uint64_t whose = owner(s, e, fd, 0);
	struct ctp_incident i = {.flags = CTP_BAD_WOKEN, .fd = fd, .stack = s->stack};
	if (!whose || (e->leads & CTP_ID_MASK) == s->id)
		return;
	i.value[2] = whose;
	i.value[3] = EPOLLIN;
	reused(g, &i, s, e, was);
}

// s waits for this generation of fd, no event of which has come, and goes on in the
// turn that took an event of the one before.
__attribute__((noinline)) void bad_delivered(struct thread_ctx *g, const struct ctp_state *s, int fd)
{
	const struct ctp_fd *e = fds_entry(fd);
	struct ctp_incident i = {.rule = RULE_REUSED,
				 .flags = CTP_BAD_STALE,
				 .fd = fd,
				 .gen = e->gen,
				 .who = s->id,
				 .stack = s->stack,
				 .other = e->closer,
				 .other_stack = e->closer_stack,
				 .other_time = e->closed,
				 .call = e->closed_how};
	i.value[0] = e->closed_gen;
	i.value[1] = e->opener;
	if (s->runs && e->closed_gen == e->gen - 1 && e->event_time < s->since)
		incident_note(g, &i);
}

// ------------------------------------------------------------- closed before

static bool was_closed(const struct ctp_fd *e)
{
	return e && e->gen && e->life == CTP_FD_CLOSED && e->closed_gen == e->gen &&
	       e->closed_how != CTP_CALL_REOPENED;
}

static void closed_before(struct thread_ctx *g, struct ctp_incident *i, int fd)
{
	const struct ctp_fd *e = fds_entry(fd);
	i->rule = RULE_BADFD;
	i->who = guest_who(g);
	i->fd = fd;
	i->gen = e->gen;
	i->other = e->closer;
	i->other_stack = e->closer_stack;
	i->other_time = e->closed;
	i->value[1] = e->closed_how;
	incident_note(g, i);
}

// Did this entity close fd at this very place?
static bool closed_here(const struct thread_ctx *g, long fd, uint32_t stack)
{
	const struct ctp_fd *e = fd == (int)fd ? fds_entry((int)fd) : NULL;
	return was_closed(e) && stack && e->closer == guest_who(g) && e->closer_stack == stack;
}

// How many numbers in a row, fd among them, have been closed or refused at this place by now. A program may
// pass any int: those next to it are longs.
static int row(struct thread_ctx *g, int fd, uint64_t pc, uint32_t stack)
{
	long lo = fd, hi = fd, told_lo = g->refused.lo, told_hi = g->refused.hi;
	if (g->refused.pc == pc && fd >= g->refused.lo && fd <= g->refused.hi)
		return g->refused.hi - g->refused.lo + 1;
	for (bool more = true; more && hi - lo < 1 << 16;) {
		bool before = g->refused.pc == pc && told_hi == lo - 1,
		     behind = g->refused.pc == pc && told_lo == hi + 1;
		long was_lo = lo, was_hi = hi;
		lo = before ? told_lo : closed_here(g, lo - 1, stack) ? lo - 1 : lo;
		hi = behind ? told_hi : closed_here(g, hi + 1, stack) ? hi + 1 : hi;
		more = lo != was_lo || hi != was_hi;
	}
	g->refused.pc = pc;
	g->refused.lo = (int)lo;
	g->refused.hi = (int)hi;
	return (int)(hi - lo) + 1;
}

__attribute__((noinline)) void bad_closed(struct thread_ctx *g, int fd, enum ctp_fd_call call,
					  const struct frame *f)
{
	uint32_t stack = guest_stack(g, f);
	int n = row(g, fd, f->pc, stack);
	struct ctp_incident i = {.flags = CTP_BAD_CLOSE, .call = call, .stack = stack};
	i.value[0] = (uint64_t)n;
	if (fds_entry(fd) && (was_closed(fds_entry(fd)) || n == IN_A_ROW))
		closed_before(g, &i, fd); // or to tell that what was noted before was a loop
}

// A coroutine that is resumed because what it waited for was closed learns it so,
// also where the number was another's meanwhile.
static bool is_told(const struct ctp_state *s, int fd)
{
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++)
		if (s->waits[i].fd == fd)
			return true;
	return false;
}

__attribute__((noinline)) void bad_used(struct thread_ctx *g, int fd, uint32_t events, const struct frame *f)
{
	const struct ctp_fd *e = fds_entry(fd);
	if (!was_closed(e) || is_told(g->current, fd))
		return;
	struct ctp_incident i = {.flags = CTP_BAD_IO, .stack = guest_stack(g, f)};
	i.value[2] = events;
	closed_before(g, &i, fd);
}

__attribute__((noinline)) void bad_registered(struct thread_ctx *g, int fd, const struct frame *f)
{
	const struct ctp_fd *e = fds_entry(fd);
	if (!was_closed(e) || is_told(g->current, fd))
		return;
	struct ctp_incident i = {.flags = CTP_BAD_EPOLL, .stack = guest_stack(g, f)};
	closed_before(g, &i, fd);
}
