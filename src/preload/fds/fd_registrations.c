// SPDX-License-Identifier: MIT
//
// Registrations in epoll sets: made, refused and dropped, whom each leads to, and the events that come of
// them. A registration that a coroutine makes is a wait of its slice (fd_waits.c).
#include "ctp/rules.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/fcontext.h"
#include "preload/coroutine/incident.h"
#include "preload/fds/fd_hints.h"
#include "preload/fds/fd_map.h"
#include "preload/guest/emit.h"

#define OUT_EVENTS ((uint32_t)(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))

static void slice_drops(struct thread_ctx *g, int fd, int epfd)
{
	uint32_t n = 0;
	for (uint32_t i = 0; i < g->nwaits; i++)
		if (g->waits[i].fd != fd || g->waits[i].epfd != epfd)
			g->waits[n++] = g->waits[i];
	g->nwaits = n;
}

// An epoll set through which somebody may wait: its end is worth a look.
static void has_rows(struct ctp_fd *e, uint32_t gen)
{
	if (CTP_LIKELY(e->flags & CTP_FD_ROWS) || !coroutine_any() || !fds_take(e))
		return;
	if (e->gen == gen)
		ctp_poke(&e->flags, e->flags | CTP_FD_ROWS);
	fds_give(e);
}

// The same registration again, by the same entity: only its time is new.
static inline bool again(const struct thread_ctx *g, const struct ctp_fd *e, const struct ctp_wait *w)
{
	return e->reg_epfd == w->epfd && e->reg_data == w->data && e->reg_events == w->events &&
	       e->reg_by == guest_who(g) && e->reg_by && e->gen == w->gen && e->reg_epgen == w->epgen;
}

// Whom the registration leads to. Where it is the coroutine's own, and led to it before, that is
// no question: to look into what its data points to takes a system call.
static uint64_t references(const struct thread_ctx *g, const struct ctp_fd *e, uint64_t data, bool same,
			   uint32_t *taught)
{
	const struct ctp_state *to = coroutine_at(data);
	uint64_t own = fd_hint_of(g->current);
	if (to)
		return fd_hint_of(to);
	if (same && e->leads == own) {
		*taught = e->flags & CTP_FD_TAUGHT;
		return own;
	}
	uint64_t through =
		(e->flags & CTP_FD_TAUGHT) && e->reg_data == data ? 0 : fd_hint_of(fcontext_through(data));
	// What its events have taught holds for the same data, whoever registers it again.
	if (!through && e->reg_data == data && e->learned && (e->leads & CTP_ID_MASK) == e->learned) {
		*taught = CTP_FD_TAUGHT;
		return e->leads;
	}
	return through;
}

// Does the coroutine of a hint wait, and has no event of it come since?
static bool waits_on(uint64_t hint, int fd, const struct ctp_fd *e)
{
	const struct ctp_region *r = &ctp_tracer->region;
	return hint && fd_waits_at(hint, fd, e->gen, false) &&
	       e->event_time < ctp_peek(&r->states[hint >> CTP_ID_BITS].since);
}

// Its registration alone leads to a coroutine that named no wait, and nothing of it is left to wake that one.
static bool all_gone(const struct ctp_fd *e, int fd, uint32_t comes)
{
	const struct ctp_region *r = &ctp_tracer->region;
	return !(comes & CTP_REG_EVENTS & ~(uint32_t)(EPOLLERR | EPOLLHUP | EPOLLRDHUP)) &&
	       fd_waits_at(e->leads, fd, e->gen, true) &&
	       e->event_time < ctp_peek(&r->states[e->leads >> CTP_ID_BITS].since);
}

// Interest in these events goes, or comes back; e is taken. What a waiter does itself is no pause. True: it
// goes under a waiter.
static __attribute__((noinline)) bool note_pause(struct ctp_fd *e, int fd, uint32_t goes, uint32_t comes)
{
	if (!goes && !(e->flags & CTP_FD_PAUSED))
		return false;
	uint32_t events = goes ? goes : comes;
	bool in = (events & CTP_REG_EVENTS & ~OUT_EVENTS) && waits_on(e->waiter[0], fd, e),
	     out = (events & OUT_EVENTS) && waits_on(e->waiter[1], fd, e);
	if (goes && (in || out))
		ctp_poke(&e->flags, e->flags | CTP_FD_PAUSED);
	else if (!goes)
		ctp_poke(&e->flags, (e->flags & ~CTP_FD_PAUSED) | (in || out ? CTP_FD_RESTORED : 0));
	return goes && (in || out || all_gone(e, fd, comes));
}

// Its waiters may be left behind: k is the entry from before.
static __attribute__((noinline, cold)) void interest_went(struct thread_ctx *g, struct fd_keep *k,
							  struct fd_death *d, const struct frame *f)
{
	fd_candidates_identify(k);
	k->cand.before = d->time;
	d->stack = guest_stack(g, f);
	d->epoch = fd_candidates_epoch();
	fd_candidates_post(g, k, CTP_CAND_DEL, d);
}

void fd_registrations_refused(struct thread_ctx *g, int epfd, int fd, const struct epoll_event *ev)
{
	struct ctp_wait w = {.fd = fd,
			     .gen = fds_open_gen(g, fd),
			     .events = ev->events,
			     .how = CTP_WAIT_REFUSED,
			     .data = ev->data.u64,
			     .epfd = epfd};
	w.epgen = fds_open_gen(g, epfd);
	struct ctp_fd *e = fds_entry(fd);
	if (!w.gen || !w.epgen || !(w.events & CTP_REG_EVENTS) || e->reg_epfd >= 0 || !fds_take(e))
		return;
	ctp_poke(&e->flags, e->flags | CTP_FD_REFUSED);
	e->reg_by = guest_who(g);
	e->reg_time = emit_now();
	fds_give(e);
	fd_slice_adds(g, &w);
}

void fd_registrations_made(struct thread_ctx *g, int epfd, int fd, const struct epoll_event *ev,
			   const struct frame *f)
{
	struct ctp_fd *e = fds_entry_by(g, fd), *set = fds_entry_by(g, epfd);
	struct ctp_wait w = {.fd = fd,
			     .gen = fds_gen_in(g, e, fd),
			     .events = ev->events,
			     .how = CTP_WAIT_REGISTERED,
			     .data = ev->data.u64,
			     .epfd = epfd};
	w.epgen = fds_gen_in(g, set, epfd);
	if (!w.gen || !w.epgen)
		return;
	bool same = again(g, e, &w);
	uint32_t taught = 0;
	uint64_t leads = references(g, e, w.data, same, &taught), now = emit_now();
	if (same && leads == e->leads && (e->flags & CTP_FD_TAUGHT) == taught) {
		ctp_store64(&e->reg_time, now);
	} else {
		if (!fds_take(e))
			return;
		const struct ctp_fd *other = fds_entry(e->reg_epfd);
		if (other && e->reg_epfd != epfd && other->life == CTP_FD_OPEN && other->gen == e->reg_epgen)
			ctp_poke(&e->flags, e->flags | CTP_FD_MANYREGS);
		uint32_t goes = e->reg_epfd == epfd ? e->reg_events & ~w.events & CTP_REG_EVENTS : 0;
		struct fd_keep *k = NULL;
		if (CTP_UNLIKELY(goes | taught |
				 (e->flags & (CTP_FD_PAUSED | CTP_FD_REFUSED | CTP_FD_TAUGHT)))) {
			if (note_pause(e, fd, goes, w.events))
				k = fd_candidates_keep(e, fd);
			ctp_poke(&e->flags, (e->flags & ~(CTP_FD_REFUSED | CTP_FD_TAUGHT)) | taught);
		}
		ctp_poke(&e->reg_epfd, epfd);
		e->reg_epgen = w.epgen;
		e->reg_events = w.events;
		ctp_poke(&e->reg_data, w.data);
		e->reg_by = guest_who(g);
		e->reg_time = now;
		e->leads = leads;
		if (g->current->entity == CTP_COROUTINE)
			e->adder = e->reg_by;
		fds_give(e);
		fd_map_add(epfd, w.data, fd, w.gen);
		if (CTP_UNLIKELY(k != NULL)) {
			struct fd_death d = {.call = CTP_CALL_EPOLL_MOD, .time = now, .closer = guest_who(g)};
			interest_went(g, k, &d, f);
		}
	}
	has_rows(set, w.epgen);
	if (w.events & CTP_REG_EVENTS) {
		fd_slice_adds(g, &w);
	} else { // after a try in vain: it does not want more of it for now
		g->eagain &= g->eagain_fd != fd;
		slice_drops(g, fd, epfd);
	}
}

// Nothing came of it, and nobody has used it: the row may be meant that the one before had under this number
// when it was closed. Whoever comes to wait for it is not known yet.
static bool by_old_number(const struct ctp_fd *e, int epfd)
{
	return CTP_UNLIKELY(e->closed_owner) && e->reg_epfd == epfd && !e->event_time && !e->last_in &&
	       !e->last_out;
}

void fd_registrations_dropped(struct thread_ctx *g, int epfd, int fd, const struct frame *f)
{
	struct ctp_fd *e = fds_entry(fd);
	slice_drops(g, fd, epfd);
	if (!e || e->life != CTP_FD_OPEN || (e->reg_epfd != epfd && !(e->flags & CTP_FD_MANYREGS)))
		return;
	struct fd_death d = {.call = CTP_CALL_EPOLL_DEL, .time = guest_now(), .closer = guest_who(g)};
	if (!fds_take(e))
		return;
	struct fd_keep *k = by_old_number(e, epfd) || fd_waits_any(e, fd) ? fd_candidates_keep(e, fd) : NULL;
	if (e->reg_epfd == epfd) {
		if (k)
			(void)note_pause(e, fd, e->reg_events & CTP_REG_EVENTS, 0);
		ctp_poke(&e->reg_epfd, -1);
		e->reg_events = 0;
	}
	fds_give(e);
	if (k)
		interest_went(g, k, &d, f);
}

// An event that is nobody's: that of a generation which has ended? One closed only
// after the wait had begun may have been taken before.
static __attribute__((noinline)) void stale(struct thread_ctx *g, int epfd, uint64_t data)
{
	int fd = fd_map_find_ended(epfd, data);
	struct ctp_fd *e = fds_entry(fd);
	const struct ctp_thread *t = g->thread;
	if (!e || t->wait_call != CTP_IN_EPOLL || t->wait_fd != epfd || !(ctp_load64(&t->wait_seq) & 1) ||
	    !fds_take(e))
		return;
	bool is = e->closed_owner && e->closed < t->wait_since;
	struct ctp_incident i = {.rule = RULE_STALE,
				 .fd = fd,
				 .gen = e->closed_gen,
				 .who = e->closed_owner & CTP_ID_MASK,
				 .stack = e->closer_stack,
				 .other = e->closer,
				 .other_stack = e->closer_stack,
				 .call = e->closed_how,
				 .other_time = e->closed};
	e->stale += is;
	i.value[0] = e->stale;
	i.value[1] = e->closed_desc;
	i.value[2] = (uint64_t)epfd;
	fds_give(e);
	if (is)
		incident_note(g, &i);
}

void fd_registrations_harvested(struct thread_ctx *g, int epfd, const struct epoll_event *ev, int n)
{
	uint64_t now = emit_now();
	int fd = -1;
	g->batch_time = now;
	g->anew_fd = -1;
	for (int i = 0; i < n; i++) {
		fd = fd_map_find(epfd, ev[i].data.u64);
		if (fd < 0) {
			stale(g, epfd, ev[i].data.u64);
			continue;
		}
		ready_came(g, fds_entry(fd), ev[i].events, now);
	}
	g->batch_fd = n == 1 ? fd : -1;
	g->batch = g->batch_fd >= 0;
	g->batch_gen = g->batch_fd >= 0 ? ctp_peek(&fds_entry(fd)->gen) : 0;
	g->thread->events += (uint64_t)n;
}
