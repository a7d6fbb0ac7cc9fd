// SPDX-License-Identifier: MIT
//
// poll and select: the set passed to the call is the registration. Before the call each
// descriptor in it is marked with the time at which the wait began, so that a descriptor in
// the set of a sleeping thread has exactly that time, and one that is in no set has an older
// one. Events are noted as for epoll; a set of one descriptor that was polled without waiting,
// without a result, is a read that returned EAGAIN. The program's sets are read before the
// kernel reads them, so each page is tested first: a bad pointer must be refused by the
// kernel. (A bad timeout is read by the C library itself.)
#include "preload/hooks/hook.h"

#include <time.h>

#include "preload/coroutine/coroutine.h"
#include "preload/guest/emit.h"
#include "preload/guest/page.h"

// How far above `here` the running stack goes for certain; 0: not known.
static uint64_t stack_end(const struct thread_ctx *g, uint64_t here)
{
	const struct ctp_state *s = g->current;
	if (s->entity == CTP_COROUTINE)
		return here - s->lo < s->hi - s->lo && !(s->flags & CTP_STATE_FOREIGN) ? s->hi : 0;
	return here < g->native_top && g->native_top - here < COROUTINE_NATIVE_REACH ? g->native_top : 0;
}

// Memory on the running stack, above the hook, is; of any other the kernel is asked each time, as
// nobody tells us of all that is unmapped.
static bool readable(const struct thread_ctx *g, const void *p, uint64_t bytes)
{
	uint64_t lo = (uint64_t)p, hi = lo + bytes, here = (uint64_t)__builtin_frame_address(0);
	if (CTP_LIKELY(lo > here && lo <= hi && hi <= stack_end(g, here)))
		return true;
	if (!bytes || !p || hi < lo)
		return !bytes;
	for (uint64_t page = lo / PAGE_BYTES; page <= (hi - 1) / PAGE_BYTES; page++)
		if (!page_readable(page))
			return false;
	return true;
}

// ------------------------------------------------------------- timeouts

int64_t hook_poll_timeout_ms(int ms)
{
	return ms < 0 ? -1 : (int64_t)ms * 1000000;
}

static int64_t timeout_in(int64_t seconds, int64_t parts, int64_t part_ns)
{
	if (seconds < 0 || parts < 0)
		return 0; // refused
	return seconds < INT64_MAX / 2000000000 && parts < INT64_MAX / 4000 ?
		       seconds * 1000000000 + parts * part_ns :
		       INT64_MAX;
}

int64_t hook_poll_timeout(const struct timespec *ts)
{
	return ts ? timeout_in(ts->tv_sec, ts->tv_nsec, 1) : -1;
}

static int64_t timeout_of_timeval(const struct timeval *tv)
{
	return tv ? timeout_in(tv->tv_sec, tv->tv_usec, 1000) : -1;
}

// ------------------------------------------------------------- a set, before and after

struct given {
	uint64_t now, sum, n;
	int fd; // the last; with n == 1 the only one
	unsigned events;
};

HOOK_INLINE void give(struct given *x, int fd, unsigned events)
{
	struct ctp_fd *e = fds_entry(fd);
	x->sum = ctp_polled_sum(x->sum, fd, events);
	x->n++;
	x->fd = fd;
	x->events = events;
	if (!e || !e->gen)
		return;
	if (events & CTP_POLLED_IN)
		ctp_store64(&e->polled, x->now);
	if (events & CTP_POLLED_OUT)
		ctp_store64(&e->polled_out, x->now);
}

// What came of a call. One event alone may teach whom its descriptor wakes.
struct came {
	uint64_t now, n;
	int fd;
};

HOOK_INLINE void come(struct thread_ctx *g, struct came *x, int fd, uint32_t events)
{
	struct ctp_fd *e = fds_entry(fd);
	if (e && e->gen)
		ready_came(g, e, events, x->now);
	if (CTP_UNLIKELY(g->eagain && g->eagain_fd == fd))
		g->eagain = false; // it waited for that itself, just now
	if (CTP_UNLIKELY(g->nwaits && e && (events & EPOLLIN)))
		fd_waits_served(g, e, fd, false);
	x->n += x->n == 0 || x->fd != fd;
	x->fd = fd;
}

// Only if it would have slept: else the loop has others to run, and may run one of those first.
static void learn(struct thread_ctx *g, const struct came *x, bool sleeps)
{
	g->batch_gen = x->n == 1 && sleeps ? fds_open_gen(g, x->fd) : 0;
	g->batch_fd = g->batch_gen ? x->fd : -1;
	g->batch = g->batch_fd >= 0;
	g->thread->events += x->n;
}

// One descriptor was polled and was not ready: the same as EAGAIN.
// Not where it is registered: then it is a look at somebody else's connection.
static void probed(struct thread_ctx *g, int fd, unsigned events)
{
	const struct ctp_fd *e = fds_entry(fd);
	if (!e || g->current->entity != CTP_COROUTINE || (e->life == CTP_FD_OPEN && e->reg_epfd >= 0))
		return;
	g->eagain_gen = fds_open_gen(g, fd);
	g->eagain = g->probed = g->eagain_gen != 0;
	g->eagain_fd = fd;
	g->eagain_events = events & CTP_POLLED_OUT ? EPOLLOUT : EPOLLIN;
}

// What a call was given, once its set has been walked. Across the real call too.
struct call {
	struct loop_turn turn;
	int only; // asked without waiting for this one alone; else -1
	unsigned events;
	int bits; // of select's sets
};

HOOK_INLINE void call_enter(struct thread_ctx *g, struct call *c, const struct wait_entry *w,
			    const struct given *x)
{
	c->only = x->n == 1 && w->timeout_ns == 0 ? x->fd : -1;
	c->events = x->events;
	g->thread->sets += x->n != 0;
	g->thread->set_sum = x->sum;
	loop_enter(g, &c->turn, w);
}

HOOK_INLINE void call_leave(struct thread_ctx *g, const struct call *c, int n, uint64_t now)
{
	if (n == 0 && c->only >= 0 && c->turn.slot == g->slot)
		probed(g, c->only, c->events);
	if (n <= 0)
		g->batch_fd = -1;
	loop_leave(g, &c->turn, n, now);
}

// ------------------------------------------------------------- poll

HOOK_INLINE void poll_enter(struct call *c, const struct pollfd *fds, nfds_t n, int64_t timeout_ns)
{
	struct thread_ctx *g = hook_enter();
	*c = (struct call){.turn.slot = UINT32_MAX, .only = -1};
	if (!g)
		return;
	struct given x = {.now = emit_now()};
	bool known = n <= CTP_FDS_MAX && readable(g, fds, n * sizeof(*fds));
	for (nfds_t i = 0; known && i < n; i++)
		if (fds[i].fd >= 0)
			give(&x, fds[i].fd, (unsigned short)fds[i].events);
	struct wait_entry w = {CTP_IN_POLL, -1, fds, known ? n * sizeof(*fds) : 0, timeout_ns, x.now};
	call_enter(g, c, &w, &x);
	guest_leave(g);
}

static int poll_leave(const struct call *c, const struct pollfd *fds, nfds_t n, int r)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return r;
	struct came x = {.now = r > 0 ? emit_now() : 0};
	bool open = true;
	for (nfds_t i = 0; r > 0 && i < n; i++) {
		if (fds[i].fd < 0 || !fds[i].revents)
			continue;
		come(g, &x, fds[i].fd, (unsigned short)fds[i].revents);
		open = !(fds[i].revents & POLLNVAL);
	}
	if (r > 0)
		learn(g, &x, open && c->turn.sleeps);
	call_leave(g, c, r, x.now);
	guest_leave(g);
	return r;
}

#define POLL_HOOK(name, params, timeout_ns, args) \
	CTP_HOOK int name params \
	{ \
		struct call c; \
		poll_enter(&c, fds, n, timeout_ns); \
		return poll_leave(&c, fds, n, real_##name args); \
	}

POLL_HOOK(poll, (struct pollfd * fds, nfds_t n, int timeout), hook_poll_timeout_ms(timeout),
	  (fds, n, timeout))
POLL_HOOK(ppoll, (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask),
	  hook_poll_timeout(timeout), (fds, n, timeout, mask))
POLL_HOOK(__poll_chk, (struct pollfd * fds, nfds_t n, int timeout, size_t bytes),
	  hook_poll_timeout_ms(timeout), (fds, n, timeout, bytes))
POLL_HOOK(__ppoll_chk,
	  (struct pollfd * fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t bytes),
	  hook_poll_timeout(timeout), (fds, n, timeout, mask, bytes))

// ------------------------------------------------------------- select

#define EACH_BIT(word, bit) \
	for (uint64_t w_ = (word), bit; w_ && (bit = (uint64_t)__builtin_ctzll(w_), true); w_ &= w_ - 1)

// Programs name more bits than their sets have (getdtablesize()), and the kernel reads
// no further than its table of descriptors: past the last known one nothing counts.
static int select_bits(int n)
{
	uint64_t high = ctp_load64(&ctp_tracer->region.ext->fd_high) | (CTP_POLLED_BITS - 1);
	return high < CTP_FDS_MAX && n > (int)high ? (int)high + 1 : n;
}

HOOK_INLINE void select_enter(struct call *c, int n, fd_set *const sets[CTP_POLLED_SETS], int64_t timeout_ns)
{
	struct thread_ctx *g = hook_enter();
	*c = (struct call){.turn.slot = UINT32_MAX, .only = -1};
	if (!g)
		return;
	struct given x = {.now = emit_now()};
	uint64_t words = ctp_polled_words(c->bits = select_bits(n));
	for (int k = 0; k < CTP_POLLED_SETS; k++) {
		const uint64_t *set = (const uint64_t *)sets[k];
		if (!set || !readable(g, set, words * sizeof(*set)))
			continue;
		for (uint64_t i = 0; i < words; i++)
			EACH_BIT(ctp_polled_word(set[i], c->bits, i), bit)
		give(&x, (int)(i * CTP_POLLED_BITS + bit), ctp_polled_events(k));
	}
	struct wait_entry w = {CTP_IN_SELECT, n,    sets[CTP_POLLED_READ], words * sizeof(uint64_t),
			       timeout_ns,    x.now};
	call_enter(g, c, &w, &x);
	guest_leave(g);
}

static int select_leave(const struct call *c, fd_set *const sets[CTP_POLLED_SETS], int r)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return r;
	struct came x = {.now = r > 0 ? emit_now() : 0};
	for (uint64_t i = 0; r > 0 && i < ctp_polled_words(c->bits); i++) {
		uint64_t any = 0;
		for (int k = 0; k < CTP_POLLED_SETS; k++)
			any |= sets[k] ? ctp_polled_word(((const uint64_t *)sets[k])[i], c->bits, i) : 0;
		EACH_BIT(any, bit)
		come(g, &x, (int)(i * CTP_POLLED_BITS + bit), EPOLLIN | EPOLLOUT);
	}
	if (r > 0)
		learn(g, &x, c->turn.sleeps);
	call_leave(g, c, r, x.now);
	guest_leave(g);
	return r;
}

CTP_HOOK int select(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
		    struct timeval *restrict timeout)
{
	struct call c;
	fd_set *const sets[CTP_POLLED_SETS] = {in, out, except};
	select_enter(&c, n, sets, timeout_of_timeval(timeout));
	return select_leave(&c, sets, real_select(n, in, out, except, timeout));
}

CTP_HOOK int pselect(int n, fd_set *restrict in, fd_set *restrict out, fd_set *restrict except,
		     const struct timespec *restrict timeout, const sigset_t *restrict mask)
{
	struct call c;
	fd_set *const sets[CTP_POLLED_SETS] = {in, out, except};
	select_enter(&c, n, sets, hook_poll_timeout(timeout));
	return select_leave(&c, sets, real_pselect(n, in, out, except, timeout, mask));
}
