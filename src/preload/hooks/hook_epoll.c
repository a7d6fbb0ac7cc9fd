// SPDX-License-Identifier: MIT
//
// epoll. Registrations go into the table of descriptors and into the slice of the coroutine
// that makes them; the waits are the poller's half of the harvest/close protocol. `seen` is
// the epoch as read before the kernel is entered, and events are noted before wait_seq is even
// again: so a wait that took an event can never be mistaken for one that took nothing.
#include "preload/hooks/hook.h"

#include <sys/epoll.h>

#include "preload/guest/events.h"

// A registration that was refused. Read after the real call only, as in hook_io.c.
static __attribute__((noinline)) void refused(int epfd, int op, int fd, const struct epoll_event *ev,
					      const struct frame *f)
{
	bool bad = errno == EBADF && op != EPOLL_CTL_DEL; // many take out what is closed already
	bool none = errno == ENOENT && op == EPOLL_CTL_MOD;
	struct thread_ctx *g = bad || none ? hook_enter() : NULL;
	if (!g)
		return;
	if (bad)
		bad_registered(g, fd, f);
	else
		fd_registrations_refused(g, epfd, fd, ev);
	guest_leave(g);
}

CTP_HOOK int epoll_ctl(int epfd, int op, int fd, struct epoll_event *ev)
{
	struct frame f;
	CPU_CALLER(&f);
	int r = real_epoll_ctl(epfd, op, fd, ev);
	if (CTP_UNLIKELY(r))
		refused(epfd, op, fd, ev, &f);
	struct thread_ctx *g = r == 0 ? hook_enter() : NULL;
	if (!g)
		return r;
	if (op == EPOLL_CTL_DEL)
		fd_registrations_dropped(g, epfd, fd, &f);
	else
		fd_registrations_made(g, epfd, fd, ev, &f);
	guest_leave(g);
	return r;
}

// A time that is not after the present one, without a clock: enough for a look at what is there.
// What this thread closed before is older.
static inline uint64_t hook_before(const struct thread_ctx *g)
{
	uint64_t t = g->current->since > g->batch_time ? g->current->since : g->batch_time;
	return t > g->ended_time ? t : g->ended_time + 1;
}

HOOK_INLINE void poll_enter(struct loop_turn *turn, int epfd, const struct epoll_event *buf, int max,
			    int64_t timeout_ns)
{
	struct thread_ctx *g = hook_enter();
	if (CTP_UNLIKELY(!g)) {
		*turn = (struct loop_turn){.slot = UINT32_MAX};
		return;
	}
	bool looks = timeout_ns == 0 && !ctp_load64(&g->ext->exit_begun);
	struct wait_entry w = {CTP_IN_EPOLL, epfd,
			       buf,          max > 0 ? (uint64_t)max * sizeof(*buf) : 0,
			       timeout_ns,   looks ? hook_before(g) : guest_now()};
	g->thread->polls++;
	loop_enter(g, turn, &w);
	guest_leave(g);
}

// How much of a buffer the kernel owns follows from what it has put there, not from the caller.
static void note_came(struct ctp_thread *t, const struct epoll_event *buf, int n)
{
	uint64_t bytes = (uint64_t)n * sizeof(*buf);
	if (t->came_buf != (uint64_t)buf || t->came_bytes < bytes)
		t->came_bytes = bytes;
	t->came_buf = (uint64_t)buf;
}

// In the wait all the time? If anybody ran on this thread meanwhile, the wait is no longer noted. A thread
// that never switched has nobody to wait for.
__attribute__((noinline)) void hook_epoll_slept(struct thread_ctx *g, const struct loop_turn *turn,
						uint64_t now)
{
	const struct ctp_thread *t = g->thread;
	events_look();
	uint64_t ticks = now - t->wait_since;
	if (turn->sleeps && turn->slot == g->slot && (ctp_load64(&t->wait_seq) & 1) &&
	    ticks >= LOOP_SLEPT_TICKS && guest_who(g))
		emit_at(g, now, ctp_w1(CTP_EV_SLEPT, 0, guest_who(g)), 0, ticks);
}

HOOK_INLINE int poll_leave(const struct loop_turn *turn, int epfd, const struct epoll_event *buf, int n)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return n;
	if (n > 0) {
		fd_registrations_harvested(g, epfd, buf, n);
		note_came(g->thread, buf, n);
	} else {
		fd_waits_none(g);
	}
	loop_leave(g, turn, n, g->batch_time);
	guest_leave(g);
	return n;
}

CTP_HOOK int epoll_wait(int epfd, struct epoll_event *buf, int max, int timeout)
{
	struct loop_turn turn;
	poll_enter(&turn, epfd, buf, max, hook_poll_timeout_ms(timeout));
	return poll_leave(&turn, epfd, buf, real_epoll_wait(epfd, buf, max, timeout));
}

CTP_HOOK int epoll_pwait(int epfd, struct epoll_event *buf, int max, int timeout, const sigset_t *mask)
{
	struct loop_turn turn;
	poll_enter(&turn, epfd, buf, max, hook_poll_timeout_ms(timeout));
	return poll_leave(&turn, epfd, buf, real_epoll_pwait(epfd, buf, max, timeout, mask));
}

CTP_HOOK int epoll_pwait2(int epfd, struct epoll_event *buf, int max, const struct timespec *timeout,
			  const sigset_t *mask)
{
	struct loop_turn turn;
	poll_enter(&turn, epfd, buf, max, hook_poll_timeout(timeout));
	return poll_leave(&turn, epfd, buf, real_epoll_pwait2(epfd, buf, max, timeout, mask));
}
