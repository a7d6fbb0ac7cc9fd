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
static bool wakes(const struct ctp_fd *e, uint64_t hint, int fd, bool led)
{
	const struct ctp_region *r = &ctp_tracer->region;
	if (!hint || hint >> CTP_ID_BITS >= r->stations_max)
		return false;
	const struct ctp_state *s = &r->states[hint >> CTP_ID_BITS];
	uint64_t seen = ctp_state_seen(s);
	if ((seen & 1) || s->id != (hint & CTP_ID_MASK) || s->life != CTP_SUSPENDED ||
	    e->event_time > s->since)
		return false;
	bool found = led && !s->nwaits && ctp_leads_here(e, s), tried = false, eagain = false;
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++) {
		bool same = s->waits[i].fd == fd && s->waits[i].gen == e->gen,
		     said = s->waits[i].how & CTP_WAIT_EAGAIN;
		found |= same;
		tried |= same && said;
		eagain |= said;
	}
	return found && tried == eagain && !ctp_state_retry(s, seen);
}

__attribute__((noinline)) void ready_tell(struct thread_ctx *g, const struct ctp_fd *e, uint32_t events,
					  uint64_t now)
{
	bool out = events & (OUT_EVENTS | BOTH_EVENTS), in = events & ~OUT_EVENTS;
	int fd = (int)(e - ctp_tracer->region.fds);
	uint64_t hints[] = {in ? e->waiter[0] : 0, out ? e->waiter[1] : 0, e->leads};
	if (hints[1] == hints[0])
		hints[1] = 0;
	if (hints[2] == hints[0] || hints[2] == hints[1])
		hints[2] = 0;
	for (int i = 0; i < 3; i++)
		if (wakes(e, hints[i], fd, i == 2))
			emit_at(g, now, ctp_w1(CTP_EV_READY, 0, hints[i] & CTP_ID_MASK),
				ctp_w2(guest_who(g), 0), (uint32_t)fd | (uint64_t)e->gen << 32);
}
