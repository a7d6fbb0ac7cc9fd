// SPDX-License-Identifier: MIT
//
// hook.h - what the hook_*.c files share. Included first: the names that they
// define must mean what they say, not the variants that these macros select.
#pragma once

#undef _FILE_OFFSET_BITS
#undef _FORTIFY_SOURCE

#include <errno.h>

#include "cpu.h"
#include "fds.h"
#include "real.h"

#define HOOK_INLINE static inline __attribute__((always_inline))

// ------------------------------------------------------------- in a wait
// The poller's half of the harvest/close protocol (spec/cTP.md): what the
// witness needs is stored first, then `wait_seq` goes odd. A wait entered in a
// wait (the library behind us switched inside the real call) raises it by two.

HOOK_INLINE void wait_enter(struct guest *g, enum ctp_wait_call call, int fd)
{
	struct ctp_thread *t = g->thread;
	uint64_t seq = ctp_load64(&t->wait_seq);
	ctp_wait_seen(t, ctp_tracer->region.ext);
	t->wait_call = call;
	t->wait_fd = fd;
	t->wait_timeout_ns = -1;
	t->wait_buf = t->wait_buf_bytes = 0;
	t->wait_since = 0;
	CPU_SAVED(t->wait_regs);
	ctp_store64(&t->wait_seq, seq & 1 ? seq + 2 : seq + 1);
}

static inline void wait_leave(struct guest *g)
{
	uint64_t seq = ctp_load64(&g->thread->wait_seq);
	if (seq & 1)
		ctp_store64(&g->thread->wait_seq, seq + 1);
}

// ------------------------------------------------------------- I/O calls

// Before and after a call that may block on fd. What the slice's last I/O call
// said is what the coroutine waits for, should it suspend now.
HOOK_INLINE void io_enter(int fd)
{
	struct guest *g = hook_enter();
	if (!g)
		return;
	wait_enter(g, CTP_IN_IO, fd);
	guest_leave(g);
}

void io_failed(struct guest *g, int fd, uint32_t events); // looks at errno (hook_io.c)

static inline ssize_t io_leave(ssize_t r, int fd, uint32_t events)
{
	struct guest *g = hook_enter();
	if (!g)
		return r;
	wait_leave(g);
	if (CTP_UNLIKELY(r == -1))
		io_failed(g, fd, events);
	else
		g->eagain = false;
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
