// SPDX-License-Identifier: MIT
//
// epoll: registrations go into the table of descriptors and into the slice of
// whoever makes them; the waits are the poller's half of the harvest/close
// protocol. `seen` is the epoch as read before the kernel is entered, and what
// came out is noted before wait_seq is even again: so a wait that took an event
// can never pass for one that took nothing.
#include "hook.h"

#include <sys/epoll.h>
#include <time.h>

CTP_HOOK int epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	struct frame f;
	CPU_CALLER(&f);
	int r = real_epoll_ctl(epfd, op, fd, ev);
	struct guest *g = r == 0 ? hook_enter() : NULL;
	if (!g)
		return r;
	if (op == EPOLL_CTL_DEL)
		waits_unregistered(g, epfd, fd, &f);
	else
		waits_registered(g, epfd, fd, ev);
	guest_leave(g);
	return r;
}

// What is remembered across the real call: numbers only, it may end on another thread.
struct poll {
	uint32_t slot; // of the thread that entered
	uint64_t seen;
	bool sleeps;   // a timeout other than 0
};

HOOK_INLINE void poll_enter(struct poll *p, int epfd, const struct epoll_event *buf, int max, int64_t timeout_ns)
{
	struct guest *g = hook_enter();
	*p = (struct poll){.slot = UINT32_MAX, .sleeps = timeout_ns != 0};
	if (!g)
		return;
	struct ctp_thread *t = g->thread;
	uint64_t seq = ctp_load64(&t->wait_seq);
	p->slot = g->slot;
	p->seen = ctp_wait_seen(t, ctp_tracer->region.ext);
	t->wait_call = CTP_IN_EPOLL;
	t->wait_fd = epfd;
	t->wait_timeout_ns = timeout_ns;
	t->wait_buf = (uint64_t)buf;
	t->wait_buf_bytes = max > 0 ? (uint64_t)max * sizeof(*buf) : 0;
	t->wait_since = guest_now();
	t->polls++;
	t->turns += p->sleeps;
	CPU_SAVED(t->wait_regs);
	ctp_store64(&t->wait_seq, seq & 1 ? seq + 2 : seq + 1);
	guest_leave(g);
}

static int poll_leave(const struct poll *p, int epfd, const struct epoll_event *buf, int n)
{
	struct guest *g = hook_enter();
	if (!g)
		return n;
	waits_harvested(g, epfd, buf, n);
	if (n == 0 && p->sleeps && p->slot == g->slot)
		ctp_store64(&g->thread->slept_epoch, p->seen);
	wait_leave(g);
	guest_leave(g);
	return n;
}

static int64_t ms_to_ns(int ms)
{
	return ms < 0 ? -1 : (int64_t)ms * 1000000;
}

static int64_t timespec_to_ns(const struct timespec *ts)
{
	if (!ts)
		return -1;
	return ts->tv_sec < INT64_MAX / 2000000000 ? ts->tv_sec * 1000000000 + ts->tv_nsec : INT64_MAX;
}

CTP_HOOK int epoll_wait(int epfd, struct epoll_event *buf, int max, int timeout)
{
	struct poll p;
	poll_enter(&p, epfd, buf, max, ms_to_ns(timeout));
	return poll_leave(&p, epfd, buf, real_epoll_wait(epfd, buf, max, timeout));
}

CTP_HOOK int epoll_pwait(int epfd, struct epoll_event *buf, int max, int timeout, const sigset_t *mask)
{
	struct poll p;
	poll_enter(&p, epfd, buf, max, ms_to_ns(timeout));
	return poll_leave(&p, epfd, buf, real_epoll_pwait(epfd, buf, max, timeout, mask));
}

CTP_HOOK int epoll_pwait2(int epfd, struct epoll_event *buf, int max, const struct timespec *timeout,
			  const sigset_t *mask)
{
	struct poll p;
	poll_enter(&p, epfd, buf, max, timespec_to_ns(timeout));
	return poll_leave(&p, epfd, buf, real_epoll_pwait2(epfd, buf, max, timeout, mask));
}
