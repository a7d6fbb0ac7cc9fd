// SPDX-License-Identifier: MIT
//
// hook.h - what the hook_*.c files share. To be included first: the functions that they define
// must have their own names, not the variants that these macros select.
#pragma once

#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <errno.h>

#include "cpu.h"
#include "ctp/polled.h"
#include "preload/coroutine/coroutine.h"
#include "preload/fds/fds.h"
#include "preload/guest/blocked.h"
#include "preload/guest/real.h"

#define HOOK_INLINE static inline __attribute__((always_inline))

// ------------------------------------------------------------- in a wait
// The poller's half of the harvest/close protocol (spec/cTP.md): what the
// witness needs is stored first, then `wait_seq` goes odd. A wait entered in a
// wait (the library behind us switched inside the real call) ends that one first.

struct wait_entry {
	enum ctp_wait_call call;
	int fd; // as ctp_thread.wait_fd
	const void *buf;
	uint64_t bytes;
	int64_t timeout_ns;
	uint64_t since;
};

// Returns the epoch that it has seen.
HOOK_INLINE uint64_t wait_enter(struct thread_ctx *g, const struct wait_entry *w)
{
	struct ctp_thread *t = g->thread;
	uint64_t seq = ctp_load64(&t->wait_seq);
	if (CTP_UNLIKELY(seq & 1))
		ctp_store64(&t->wait_seq, ++seq);
	uint64_t seen = ctp_wait_seen(t, g->ext);
	t->wait_call = w->call;
	t->wait_fd = w->fd;
	t->wait_timeout_ns = w->timeout_ns;
	t->wait_buf = (uint64_t)w->buf;
	t->wait_buf_bytes = w->bytes;
	t->wait_since = w->since;
	t->base = ctp_tracer->base ? cpu_base() : 0;
	CPU_SAVED(t->wait_regs);
	g->waiting = true;
	ctp_store64(&t->wait_seq, seq + 1);
	return seen;
}

// Where no coroutine is yet, nobody asks what a thread blocks in, unless tasks are told of.
HOOK_INLINE bool wait_is_noted(void)
{
	return coroutine_any() || blocked_is_told();
}

// In a call that blocks and is nobody's loop: when the loop waited last stays known.
HOOK_INLINE void wait_block(struct thread_ctx *g, enum ctp_block what, const void *on, uint64_t bytes)
{
	wait_enter(g, &(struct wait_entry){CTP_IN_BLOCK, (int)what, on, bytes, -1, g->thread->wait_since});
}

// The hook's last act before the real call; wait_end is its last one after it. (g is given up here, as a hook
// that kept it over a call would need a register more.)
HOOK_INLINE void wait_begin(struct thread_ctx *g)
{
	if (blocked_is_told())
		blocked_enter(g);
	else
		guest_leave(g);
}

static inline void wait_leave(struct thread_ctx *g)
{
	struct ctp_thread *t = g->thread;
	uint64_t seq = ctp_load64(&t->wait_seq);
	g->waiting = false;
	if (CTP_LIKELY(seq & 1))
		ctp_store64(&t->wait_seq, seq + 1);
}

HOOK_INLINE void wait_end(struct thread_ctx *g)
{
	wait_leave(g);
	if (CTP_UNLIKELY(g->timed))
		blocked_leave(g);
	else
		guest_leave(g);
}

// What is remembered across the real call: numbers only, it may end on another thread.
struct loop_turn {
	uint32_t slot; // of the thread that entered
	uint64_t seen;
	bool sleeps; // a timeout other than 0, and it is the loop's
};

#define LOOP_SLEPT_TICKS (1u << 15) // what is shorter is no sleep, and there may be many
void hook_epoll_slept(struct thread_ctx *g, const struct loop_turn *turn, uint64_t now); // (hook_epoll.c)

// A loop's wait: epoll, poll, select.
HOOK_INLINE void loop_enter(struct thread_ctx *g, struct loop_turn *turn, const struct wait_entry *w)
{
	struct ctp_thread *t = g->thread;
	bool loops = w->call == CTP_IN_EPOLL || g->current->entity == CTP_NATIVE;
	turn->slot = g->slot;
	turn->sleeps = w->timeout_ns != 0 && ctp_polled_loops(t, loops);
	if (turn->sleeps && loops)
		t->flags |= CTP_THREAD_LOOPS;
	t->turns += turn->sleeps;
	turn->seen = wait_enter(g, w);
	if (blocked_is_told() && w->timeout_ns &&
	    !(turn->sleeps && guest_who(g))) // else hook_epoll_slept says it
		blocked_begin(g);
}

// n: what the real call returned. What came has been noted; now: when, if anything did.
HOOK_INLINE void loop_leave(struct thread_ctx *g, const struct loop_turn *turn, int n, uint64_t now)
{
	if (n == 0 && turn->sleeps && turn->slot == g->slot)
		ctp_store64(&g->thread->slept_epoch, turn->seen);
	if (CTP_UNLIKELY(n <= 0 ? turn->sleeps : now - g->thread->wait_since >= LOOP_SLEPT_TICKS))
		hook_epoll_slept(g, turn, n > 0 ? now : guest_now());
	wait_leave(g);
	if (CTP_UNLIKELY(g->timed))
		blocked_end(g);
}

// A timeout as a wait_entry has it. (hook_poll.c)
int64_t hook_poll_timeout_ms(int ms);
int64_t hook_poll_timeout(const struct timespec *ts);

// ------------------------------------------------------------- I/O calls

// Does a call on fd return at once, as far as is known (CTP_FD_NONBLOCK)? Then nobody can find
// the thread asleep in it, and there is no wait to tell of. `now`: the call itself says so.
HOOK_INLINE bool io_returns(int fd, bool now)
{
	const struct thread_ctx *g = cpu_self();
	return g && (uint32_t)fd < g->fds_max && (now || (g->fds[fd].flags & CTP_FD_NONBLOCK));
}

// Before and after a call that may block on fd. What the slice's last I/O call
// said is what the coroutine waits for, should it suspend now.
HOOK_INLINE void io_enter(int fd)
{
	struct thread_ctx *g = hook_enter();
	if (!g)
		return;
	wait_enter(g, &(struct wait_entry){CTP_IN_IO, fd, NULL, 0, -1, 0});
	wait_begin(g);
}

// A number for which the coroutine waited, when it was another generation?
HOOK_INLINE bool io_touches(const struct ctp_state *s, const struct ctp_fd *e, int fd)
{
	bool touches = false;
	if (s->entity == CTP_COROUTINE)
		for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++)
			touches |= s->waits[i].fd == fd && s->waits[i].gen != e->gen;
	return touches;
}

// After a call, the whole of it; r is passed on. g: in the hook already, wait_leave was called;
// NULL: not yet, and `waited`, it is due. f: who made the call. (hook_io.c)
ssize_t hook_io_leave(struct thread_ctx *g, ssize_t r, int fd, uint32_t events, bool waited,
		      const struct frame *f);

// What was done with it last. Whether a coroutine has answered what it has read.
HOOK_INLINE void io_note_latest(struct ctp_fd *e, uint32_t events)
{
	ctp_poke(&e->latest, events == EPOLLIN ? CTP_FD_READ_LAST : CTP_FD_WRITTEN_LAST);
}

// After a call that did not fail: is it as nearly all are? Then all is done.
HOOK_INLINE bool io_is_plain(struct thread_ctx *g, ssize_t r, int fd, uint32_t events)
{
	struct ctp_state *s = g->current;
	struct ctp_fd *e = &g->fds[fd];
	if ((uint32_t)fd >= g->fds_max)
		return false;
	uint64_t last = ctp_load64(events == EPOLLIN ? &e->last_in : &e->last_out);
	if (CTP_UNLIKELY(!last) || CTP_UNLIKELY((last ^ s->id) << 1)) // others before do not matter
		return false;
	if (events == EPOLLIN && (CTP_UNLIKELY(g->nwaits) || CTP_UNLIKELY(!r)))
		return false;
	if ((e->flags & (CTP_FD_MANY | CTP_FD_DUPED)) || g->eagain || g->timed || io_touches(s, e, fd))
		return false;
	s->tried = 0;
	io_note_latest(e, events);
	return true;
}

// waited: io_enter was called before.
HOOK_INLINE ssize_t io_leave(ssize_t r, int fd, uint32_t events, bool waited)
{
	struct thread_ctx *g = hook_try();
	if (CTP_LIKELY(g != NULL)) {
		if (waited)
			wait_leave(g);
		if (CTP_LIKELY(r != -1 && io_is_plain(g, r, fd, events))) {
			guest_leave(g);
			return r;
		}
	}
	struct frame f;
	CPU_CALLER(&f);
	return hook_io_leave(g, r, fd, events, waited, &f);
}

// A call on `fd`. now: its arguments say that it does not block.
#define IO_CALL(type, r, events, now, call) \
	type r; \
	if (CTP_LIKELY(io_returns(fd, (now)))) { \
		r = call; \
		r = (type)io_leave(r, fd, (events), false); \
	} else { \
		io_enter(fd); \
		r = call; \
		r = (type)io_leave(r, fd, (events), true); \
	}

// ------------------------------------------------------------- openers

// In an opener's hook: before the real call, and with what it returned.
#define OPENING(how, what) \
	struct fd_birth birth; \
	birth.call = (how); \
	birth.kind = (what); \
	birth.since = fds_births(); \
	birth.nonblock = false; \
	CPU_CALLER(&birth.frame)

int hook_opened(int fd, const struct fd_birth *b); // (hook_open.c)

// ------------------------------------------------------------- signals

// TERM, INT, HUP or QUIT reached the program, by whatever way. (hook_signal.c)
void hook_signal_noted(int sig);
// The program reads these from a signalfd: every read looks at what it got.
extern bool hook_signal_by_fd;
bool hook_signal_ends(int sig); // is it one of the four?
