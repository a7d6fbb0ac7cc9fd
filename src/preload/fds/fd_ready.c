// SPDX-License-Identifier: MIT
//
// An event was taken, and a coroutine is suspended for it: from now on the coroutine could
// run. The time until it does is what a profile of latencies shows. The record is written once
// per suspension and descriptor, so a loop that spins on an event that nobody takes does not
// fill the ring; the entry keeps the time of its last event.
#include "preload/coroutine/coroutine.h"
#include "ctp/wait_inference.h"
#include "preload/guest/emit.h"
#include "preload/fds/fds.h"

#define OUT_EVENTS ((uint32_t)(EPOLLOUT | EPOLLWRNORM | EPOLLWRBAND))
#define BOTH_EVENTS ((uint32_t)(EPOLLERR | EPOLLHUP))

// Of several waits the one that said EAGAIN is what it suspended for; what it registered in the same
// slice may be its loop's own.
static __attribute__((noinline)) bool waits_for(const struct ctp_fd *e, const struct ctp_state *s, int fd)
{
	bool found = false, tried = false, eagain = false;
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++) {
		bool same = s->waits[i].fd == fd && s->waits[i].gen == e->gen,
		     said = s->waits[i].how & CTP_WAIT_EAGAIN;
		found |= same;
		tried |= same && said;
		eagain |= said;
	}
	return found && tried == eagain;
}

static inline bool wakes(const struct ctp_fd *e, uint64_t hint, int fd, bool led)
{
	const struct ctp_region *r = &ctp_tracer->region;
	if (hint >> CTP_ID_BITS >= r->stations_max)
		return false;
	const struct ctp_state *s = &r->states[hint >> CTP_ID_BITS];
	uint64_t seen = ctp_state_seen(s);
	if ((seen & 1) || s->id != (hint & CTP_ID_MASK) || s->life != CTP_SUSPENDED ||
	    e->event_time > s->since)
		return false;
	bool found = s->nwaits ? waits_for(e, s, fd) : led && ctp_leads_here(e, s);
	return found && !ctp_state_retry(s, seen);
}

static __attribute__((noinline)) void tell(struct thread_ctx *g, const struct ctp_fd *e, uint64_t hint,
					   int fd, uint64_t now)
{
	emit_two(g, now, ctp_w1(CTP_EV_READY, 0, hint & CTP_ID_MASK), ctp_w2(guest_who(g), 0),
		 (uint32_t)fd | (uint64_t)e->gen << 32);
}

__attribute__((noinline)) void ready_tell(struct thread_ctx *g, const struct ctp_fd *e, uint32_t events,
					  uint64_t now)
{
	int fd = (int)(e - ctp_tracer->region.fds);
	uint64_t in = events & ~OUT_EVENTS ? e->waiter[0] : 0,
		 out = events & (OUT_EVENTS | BOTH_EVENTS) ? e->waiter[1] : 0, led = e->leads;
	if (in && wakes(e, in, fd, false))
		tell(g, e, in, fd, now);
	if (out && out != in && wakes(e, out, fd, false))
		tell(g, e, out, fd, now);
	if (led && led != in && led != out && wakes(e, led, fd, true))
		tell(g, e, led, fd, now);
}
