// SPDX-License-Identifier: MIT
//
// Which coroutine waits for which descriptor. A coroutine waits for the descriptors that it
// registered itself in its last slice, and for the one on which its last I/O call returned
// EAGAIN. Its state has the list; the entry of each descriptor has a hint back (the last
// coroutine to suspend on it, one for input and one for output). A hint is checked against the
// coroutine's state before it is used, so hints are never removed.
#include <sys/syscall.h>

#include "ctp/rules.h"
#include "preload/coroutine/coroutine.h"
#include "ctp/wait_inference.h"
#include "preload/guest/emit.h"
#include "preload/guest/exit.h"
#include "preload/coroutine/fcontext.h"
#include "preload/fds/fd_hints.h"
#include "preload/fds/held.h"
#include "preload/coroutine/incident.h"

#define OUT_EVENTS ((uint32_t)(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))

// ------------------------------------------------------------- who waits on an entry

// True also if its state keeps being written.
bool fd_waits_at(uint64_t hint, int fd, uint32_t gen, bool led)
{
	const struct ctp_region *r = &ctp_tracer->region;
	if (!hint || hint >> CTP_ID_BITS >= r->stations_max)
		return false;
	const struct ctp_state *s = &r->states[hint >> CTP_ID_BITS];
	for (int tries = 0; tries < 64; tries++) {
		uint64_t seen = ctp_state_seen(s);
		if (seen & 1)
			continue;
		bool found = false;
		if (s->id == (hint & CTP_ID_MASK) && s->life == CTP_SUSPENDED) {
			found = led && !s->nwaits;
			for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++)
				found |= s->waits[i].fd == fd && s->waits[i].gen == gen;
		}
		if (!ctp_state_retry(s, seen))
			return found;
	}
	return true;
}

bool fd_waits_for(uint64_t hint, int fd, uint32_t gen)
{
	return fd_waits_at(hint, fd, gen, false);
}

bool fd_waits_some(struct ctp_fd *e, int fd)
{
	if (!e->leads && e->reg_epfd >= 0)
		e->leads = fd_hint_of(coroutine_at(e->reg_data));
	if (!e->leads && e->reg_epfd >= 0 && (e->waiter[0] | e->waiter[1]))
		e->leads = fd_hint_of(fcontext_through(e->reg_data));
	return (e->flags & CTP_FD_MANY) || fd_waits_at(e->waiter[0], fd, e->gen, false) ||
	       fd_waits_at(e->waiter[1], fd, e->gen, false) || fd_waits_at(e->leads, fd, e->gen, true);
}

// ------------------------------------------------------------- suspending, going on

// A wait for a generation that has ended. False: by the coroutine itself, so it
// waits for something else. Else its end was not posted, as nobody waited yet.
static bool wait_for_ended(struct thread_ctx *g, const struct ctp_state *s, const struct ctp_wait *w)
{
	struct ctp_fd *e = fds_entry(w->fd);
	struct fd_death d = {0};
	struct fd_keep *k = NULL;
	if (!e || !fds_take(e))
		return true;
	bool known = e->closed_gen == w->gen, own = known && e->closer == s->id && s->id;
	if (known && !own && e->gen == w->gen && s->entity == CTP_COROUTINE &&
	    (k = fd_candidates_keep(e, w->fd))) {
		d = (struct fd_death){.call = e->closed_how,
				      .time = e->closed,
				      .closer = e->closer,
				      .stack = e->closer_stack,
				      .epoch = fd_candidates_epoch()};
		e->closed_epoch = d.epoch;
	}
	fds_give(e);
	if (k)
		fd_candidates_post(g, k, CTP_CAND_CLOSE, &d);
	return !own;
}

static bool current(const struct ctp_wait *w)
{
	const struct ctp_fd *e = fds_entry(w->fd);
	return e && e->life == CTP_FD_OPEN && e->gen == w->gen;
}

// To read, to write: at least one of both.
static void directions(const struct ctp_wait *w, bool dir[2])
{
	dir[1] = (w->events & OUT_EVENTS) != 0;
	dir[0] = (w->events & CTP_REG_EVENTS & ~OUT_EVENTS & ~(uint32_t)(EPOLLERR | EPOLLHUP)) != 0 ||
		 !dir[1];
}

static bool linked(const struct ctp_fd *e, const struct ctp_state *s, const struct ctp_wait *w)
{
	uint64_t hint = fd_hint_of(s);
	bool dir[2];
	directions(w, dir);
	return (!dir[0] || e->waiter[0] == hint) && (!dir[1] || e->waiter[1] == hint);
}

// Leaves the hint back to s in the entry of what it waits for.
static void link_wait(struct ctp_state *s, const struct ctp_wait *w)
{
	struct ctp_fd *e = fds_entry(w->fd);
	uint64_t hint = fd_hint_of(s);
	bool dir[2];
	directions(w, dir);
	if (linked(e, s, w))
		return;
	bool ask = !(fd_private(e)->asked & FD_ASKED_KIND) && e->kind == CTP_FD_OTHER;
	enum ctp_fd_kind kind = ask ? fd_candidates_kind(w->fd) : CTP_FD_OTHER;
	if (!fds_take(e))
		return;
	for (int i = 0; i < 2 && e->gen == w->gen; i++) {
		if (!dir[i] || e->waiter[i] == hint)
			continue;
		if (fd_waits_at(e->waiter[i], w->fd, w->gen, false))
			ctp_poke(&e->flags, e->flags | CTP_FD_MANY);
		e->waiter[i] = hint;
		if (!e->learned)
			e->learned_stack = s->stack; // where it waits, until an event tells
	}
	if (ask && e->gen == w->gen) {
		e->kind = kind;
		fd_private(e)->asked |= FD_ASKED_KIND;
	}
	fds_give(e);
}

// It wrote in vain, and asks for something else than room.
static __attribute__((noinline, cold)) void wrote(struct ctp_wait *w)
{
	struct ctp_fd *e = fds_entry(w->fd);
	w->how |= CTP_WAIT_WROTE;
	if ((e->flags & CTP_FD_WROTE) || !fds_take(e))
		return;
	if (e->gen == w->gen)
		ctp_poke(&e->flags, e->flags | CTP_FD_WROTE);
	fds_give(e);
}

// The wait that EAGAIN tells of joins the slice's registrations. False: no room.
static bool join_eagain(struct thread_ctx *g)
{
	for (uint32_t i = 0; i < g->nwaits; i++) {
		if (g->waits[i].fd == g->eagain_fd && g->waits[i].gen == g->eagain_gen) {
			g->waits[i].how |= CTP_WAIT_EAGAIN;
			if (CTP_UNLIKELY(g->eagain_events & ~g->waits[i].events & OUT_EVENTS))
				wrote(&g->waits[i]);
			return true;
		}
	}
	if (g->nwaits == CTP_WAITS)
		return false;
	g->waits[g->nwaits++] = (struct ctp_wait){.fd = g->eagain_fd,
						  .gen = g->eagain_gen,
						  .epfd = -1,
						  .events = g->eagain_events,
						  .how = CTP_WAIT_EAGAIN};
	return true;
}

// It meant to register what it did not try, and suspends all the same: perhaps for that.
static __attribute__((noinline, cold)) void refused(struct ctp_state *s, const struct ctp_wait *w)
{
	struct ctp_fd *e = fds_entry(w->fd);
	if (s->entity != CTP_COROUTINE || (s->flags & CTP_STATE_PRIVATE) || e->learned || !fds_take(e))
		return;
	if (e->gen == w->gen && e->reg_by == s->id)
		e->learned_stack = s->stack;
	fds_give(e);
}

void fds_suspend(struct thread_ctx *g, struct ctp_state *s)
{
	s->nwaits = 0;
	s->flags &= ~CTP_STATE_MOREWAITS;
	if (CTP_UNLIKELY(g->nlocks))
		held_suspend(g, s);
	if (CTP_LIKELY(!g->nwaits && !g->eagain))
		return;
	bool said = g->eagain && !(g->probed && g->nwaits);
	if (g->more_waits | (said && !join_eagain(g)))
		s->flags |= CTP_STATE_MOREWAITS;
	for (uint32_t i = 0; i < g->nwaits; i++) {
		const struct ctp_wait *w = &g->waits[i];
		bool live = current(w);
		if (!live && !wait_for_ended(g, s, w))
			continue;
		if (CTP_UNLIKELY(w->how == CTP_WAIT_REFUSED)) {
			refused(s, w);
			continue;
		}
		s->waits[s->nwaits++] = *w;
		if (live && s->entity == CTP_COROUTINE && !(s->flags & CTP_STATE_PRIVATE))
			link_wait(s, w);
	}
	if (g->eagain && !g->probed)
		spurious_suspends(g, s);
}

bool fds_waits_again(const struct ctp_state *s, int fd, uint32_t events)
{
	const struct ctp_wait *w = &s->waits[0];
	return s->nwaits == 1 && w->fd == fd && w->events == events && w->epfd == -1 &&
	       w->how == CTP_WAIT_DECLARED && current(w) && linked(fds_entry(fd), s, w);
}

bool fds_resumes_plainly(const struct thread_ctx *g, const struct ctp_state *s)
{
	return g->batch_fd < 0 && g->anew_fd < 0 && (!s->nwaits || current(&s->waits[0]));
}

// Whether s goes on although what it waited for has ended, and no event did it.
static bool by_hand(const struct ctp_state *s)
{
	bool ended = false;
	for (uint32_t i = 0; i < s->nwaits; i++) {
		const struct ctp_fd *e = fds_entry(s->waits[i].fd);
		if (!e || (e->gen == s->waits[i].gen && e->event_time >= s->since))
			return false;
		ended |= i == 0 && !current(&s->waits[i]);
	}
	return ended;
}

// Has s anything to do with fd, whose event is about to resume it? Whom the registration's data
// leads to is a guess, which means nothing if s stood there before fd was opened.
static bool asked(const struct ctp_fd *e, const struct ctp_state *s, int fd)
{
	bool has = e->leads == fd_hint_of(s) || e->adder == s->id || e->reg_by == s->id || e->opener == s->id;
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++)
		has |= s->waits[i].fd == fd && s->waits[i].gen == e->gen;
	return has && e->opened <= s->since;
}

// An event of what it has nothing to do with resumes s: it waits for whatever comes, if that happens
// from the same place again, or if there was no such descriptor when it came there.
static void note_called(const struct ctp_fd *e, struct ctp_state *s, int fd)
{
	bool sure = e->opened > s->since || s->called == s->stack;
	if (!s->stack || ctp_wakes_others(e) || asked(e, s, fd) || (!sure && (s->flags & CTP_STATE_POOLED)))
		return;
	s->called = s->stack;
	s->flags = (s->flags & ~CTP_STATE_POOLED) | (sure ? CTP_STATE_POOLED : 0);
}

void fds_resume(struct thread_ctx *g, struct ctp_state *s)
{
	if (s->entity != CTP_COROUTINE)
		return;
	if (s->nwaits && by_hand(s))
		g->thread->hand++;
	for (uint32_t i = 0; CTP_UNLIKELY(g->anew_fd >= 0) && i < s->nwaits && i < CTP_WAITS; i++)
		if (s->waits[i].fd == g->anew_fd && s->waits[i].gen == g->anew_gen)
			bad_delivered(g, s, g->anew_fd);
	if (g->batch_fd < 0)
		return;
	int fd = g->batch_fd;
	struct ctp_fd *e = fds_entry(fd);
	for (uint32_t i = 0; e && i < s->nwaits && i < CTP_WAITS; i++)
		if (CTP_UNLIKELY(s->waits[i].fd == g->batch_fd && s->waits[i].gen != e->gen))
			bad_woken(g, s, g->batch_fd, s->waits[i].gen);
	g->batch_fd = -1;
	// A first run is no wake-up: an accept event starts the new connection's coroutine.
	bool known = e && e->learned == s->id && e->learned_stack == s->stack;
	if (!e || !s->runs || known || e->gen != g->batch_gen || !fds_take(e))
		return;
	if (e->gen == g->batch_gen && e->life == CTP_FD_OPEN) {
		note_called(e, s, fd);
		e->learned = s->id;
		e->learned_stack = s->stack;
		e->leads = fd_hint_of(s);
	}
	fds_give(e);
}

// ------------------------------------------------------------- what calls say

// A hint to nobody, which is not looked up in the registration's data either.
#define LEADS_NOWHERE (CTP_ID_MASK << CTP_ID_BITS)

// Is nothing more to come where a read gave nothing? Not of messages, which may be empty.
static bool has_end(struct ctp_fd *e, int fd)
{
	int type = 0;
	uint32_t len = sizeof(type), gen = e->gen;
	if (e->kind == CTP_FD_UDP || (e->flags & CTP_FD_LISTENS))
		return false;
	if (e->kind != CTP_FD_UNIX && e->kind != CTP_FD_OTHER)
		return true;
	if (fd_private(e)->asked & FD_ASKED_TYPE)
		return !(fd_private(e)->asked & FD_MESSAGES);
	bool socket = guest_syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, (long)&type, (long)&len, 0) == 0;
	bool messages = socket && type != SOCK_STREAM;
	if (fds_take(e)) {
		if (e->gen == gen)
			fd_private(e)->asked |= FD_ASKED_TYPE | (messages ? FD_MESSAGES : 0);
		fds_give(e);
	}
	return !messages;
}

void fd_waits_served(struct thread_ctx *g, struct ctp_fd *e, int fd, bool nothing)
{
	const struct ctp_state *s = g->current;
	uint32_t n = 0, had = g->nwaits;
	if (s->entity != CTP_COROUTINE || e->reg_epfd < 0)
		return;
	for (uint32_t i = 0; i < had; i++)
		if (g->waits[i].fd != fd || !(g->waits[i].events & EPOLLIN))
			g->waits[n++] = g->waits[i];
	g->nwaits = n;
	uint64_t leads = e->leads ? e->leads : fd_hint_of(coroutine_at(e->reg_data));
	if (nothing && has_end(e, fd)) {
		if (((leads & CTP_ID_MASK) != s->id && e->learned != s->id) || !fds_take(e))
			return;
		e->leads = LEADS_NOWHERE;
		e->learned = e->learned_stack = 0;
		fds_give(e);
	} else if (n != had && !leads && fds_take(e)) {
		e->leads = fd_hint_of(s);
		fds_give(e);
	}
}

__attribute__((noinline, cold)) void fd_waits_full(struct thread_ctx *g, int fd)
{
	struct ctp_wait w = {
		.fd = fd, .gen = fds_open_gen(g, fd), .events = EPOLLIN, .how = CTP_WAIT_FULL, .epfd = -1};
	for (uint32_t i = 0; i < g->nwaits; i++) {
		if (g->waits[i].fd == fd && g->waits[i].gen == w.gen) {
			g->waits[i].how |= CTP_WAIT_FULL;
			return;
		}
	}
	if (w.gen && g->current->entity == CTP_COROUTINE)
		fd_slice_adds(g, &w);
}
