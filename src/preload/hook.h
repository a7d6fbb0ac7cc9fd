// SPDX-License-Identifier: MIT
//
// hook.h - what the hook_*.c files share. Included first: the names that they
// define must mean what they say, not the variants that these macros select.
#pragma once

#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <errno.h>

#include "cpu.h"
#include "ctp/polled.h"
#include "fds.h"
#include "real.h"

#define HOOK_INLINE static inline __attribute__((always_inline))

// ------------------------------------------------------------- in a wait
// The poller's half of the harvest/close protocol (spec/cTP.md): what the
// witness needs is stored first, then `wait_seq` goes odd. A wait entered in a
// wait (the library behind us switched inside the real call) raises it by two.

struct wait_entry {
	enum ctp_wait_call call;
	int fd; // as ctp_thread.wait_fd
	const void *buf;
	uint64_t bytes;
	int64_t timeout_ns;
	uint64_t since;
};

// Returns the epoch that it has seen.
HOOK_INLINE uint64_t wait_enter(struct guest *g, const struct wait_entry *w)
{
	struct ctp_thread *t = g->thread;
	uint64_t seq = ctp_load64(&t->wait_seq), seen = ctp_wait_seen(t, ctp_tracer->region.ext);
	t->wait_call = w->call;
	t->wait_fd = w->fd;
	t->wait_timeout_ns = w->timeout_ns;
	t->wait_buf = (uint64_t)w->buf;
	t->wait_buf_bytes = w->bytes;
	t->wait_since = w->since;
	t->base = ctp_tracer->base ? cpu_base() : 0;
	CPU_SAVED(t->wait_regs);
	ctp_store64(&t->wait_seq, seq & 1 ? seq + 2 : seq + 1);
	return seen;
}

// In a call that blocks and is nobody's loop: when the loop waited last stays known.
HOOK_INLINE void wait_block(struct guest *g, enum ctp_block what, const void *on, uint64_t bytes)
{
	wait_enter(g, &(struct wait_entry){CTP_IN_BLOCK, (int)what, on, bytes, -1, g->thread->wait_since});
}

static inline void wait_leave(struct guest *g)
{
	uint64_t seq = ctp_load64(&g->thread->wait_seq);
	if (seq & 1)
		ctp_store64(&g->thread->wait_seq, seq + 1);
}

// What is remembered across the real call: numbers only, it may end on another thread.
struct loop_turn {
	uint32_t slot; // of the thread that entered
	uint64_t seen;
	bool sleeps;   // a timeout other than 0, and it is the loop's
};

// A loop's wait: epoll, poll, select.
HOOK_INLINE void loop_enter(struct guest *g, struct loop_turn *turn, const struct wait_entry *w)
{
	struct ctp_thread *t = g->thread;
	bool loops = w->call == CTP_IN_EPOLL || g->current->entity == CTP_NATIVE;
	turn->slot = g->slot;
	turn->sleeps = w->timeout_ns != 0 && ctp_polled_loops(t, loops);
	if (turn->sleeps && loops)
		t->flags |= CTP_THREAD_LOOPS;
	t->turns += turn->sleeps;
	turn->seen = wait_enter(g, w);
}

// n: what the real call returned. What came has been noted.
static inline void loop_leave(struct guest *g, const struct loop_turn *turn, int n)
{
	if (n == 0 && turn->sleeps && turn->slot == g->slot)
		ctp_store64(&g->thread->slept_epoch, turn->seen);
	wait_leave(g);
}

// A timeout as a wait_entry has it. (hook_poll.c)
int64_t timeout_of_ms(int ms);
int64_t timeout_of(const struct timespec *ts);

// ------------------------------------------------------------- I/O calls

// Before and after a call that may block on fd. What the slice's last I/O call
// said is what the coroutine waits for, should it suspend now.
HOOK_INLINE void io_enter(int fd)
{
	struct guest *g = hook_enter();
	if (!g)
		return;
	wait_enter(g, &(struct wait_entry){CTP_IN_IO, fd, NULL, 0, -1, 0});
	guest_leave(g);
}

void io_failed(struct guest *g, int fd, uint32_t events); // looks at errno (hook_io.c)

// Who reads it, who writes it: one store when that changes. For who waits for whom.
static inline void io_done(struct guest *g, int fd, uint32_t events)
{
	struct ctp_fd *e = fds_entry(fd);
	g->eagain = false;
	if (!e)
		return;
	uint64_t *last = events == EPOLLIN ? &e->last_in : &e->last_out, was = ctp_load64(last), who = guest_who(g);
	if (CTP_UNLIKELY(!who))
		who = CTP_FD_UNNAMED | g->slot;
	if (CTP_UNLIKELY((was & ~CTP_FD_SEVERAL) != who))
		ctp_store64(last, who | (was ? CTP_FD_SEVERAL : 0));
	g->current->VAIN_KEY = 0;
	if (CTP_UNLIKELY(e->flags & CTP_FD_MANY))
		vain_served(e);
}

// A number for which the coroutine waited, when it was another generation?
static inline void io_touched(struct guest *g, int fd, uint32_t events)
{
	const struct ctp_state *s = g->current;
	for (uint32_t i = 0; i < s->nwaits && i < CTP_WAITS; i++) {
		const struct ctp_fd *e = fds_entry(s->waits[i].fd);
		if (s->waits[i].fd == fd && CTP_UNLIKELY(e->gen != s->waits[i].gen) && s->entity == CTP_COROUTINE)
			bad_touched(g, fd, s->waits[i].gen, events);
	}
}

static inline ssize_t io_leave(ssize_t r, int fd, uint32_t events)
{
	struct guest *g = hook_enter();
	if (!g)
		return r;
	wait_leave(g);
	io_touched(g, fd, events);
	if (CTP_UNLIKELY(r == -1))
		io_failed(g, fd, events);
	else
		io_done(g, fd, events);
	guest_leave(g);
	return r;
}

// ------------------------------------------------------------- openers

// In an opener's hook: before the real call, and with what it returned.
#define OPENING(how, what) \
	struct fd_birth birth = {.call = (how), .kind = (what), .since = guest_now()}; \
	CPU_CALLER(&birth.frame)

static inline int hook_opened(int fd, const struct fd_birth *b)
{
	struct guest *g = fd >= 0 ? hook_enter() : NULL;
	if (g) {
		fds_opened(g, fd, b);
		guest_leave(g);
	}
	return fd;
}

// ------------------------------------------------------------- signals

// TERM, INT, HUP or QUIT reached the program, by whatever way. (hook_signal.c)
void signal_noted(int sig);
// The program reads these from a signalfd: every read looks at what it got.
extern bool signal_by_fd;
bool signal_ends(int sig); // is it one of the four?
