// SPDX-License-Identifier: MIT
//
// exit.h - the end of the program as the guest handles it: when exit has begun,
// when the engine may be waited for, and when no system call may be made any more.
#pragma once

#include <errno.h>
#include <sys/single_threaded.h>

#include "cpu.h"
#include "preload/guest/guest.h"

// Called by the constructor, and again in a forked child that is traced (no look-up then).
void exit_init(void);

// The calling thread is about to create another: from now on an exit that libc begins by itself
// on this thread (err, error) is noted before exit handlers run.
void exit_watch_thread(void);

// Exit begins, by `how`, and no exit handler has run yet: the first call notes it in the region and
// has the final inspection made. g: NULL if the thread is inside another hook, or has no context;
// then, and where the caller passes none, there is no inspection.
void exit_begins(struct thread_ctx *g, enum ctp_exit how, int status, uint32_t stack);

// Asks the engine for the final inspection and waits for it, half a second at most. Only where
// no exit handler has run yet, or in a process with one thread. g: NULL if there is none (a crash).
void exit_inspect(struct thread_ctx *g);

// Whether the process has other threads, as far as libc knows. No system call.
static inline bool exit_has_threads(void)
{
	const uint32_t *n = ctp_tracer->libc_threads;
	return !__libc_single_threaded && (!n || ctp_load32(n) > 1);
}

// Exit handlers may be running beside other threads. Whatever takes time now widens the
// program's own race between the two: no system call is made, and records that would need one
// are dropped, and counted.
static inline bool exit_silent(void)
{
	return CTP_UNLIKELY(ctp_tracer->exiting) && exit_has_threads();
}

// A system call made by a hook. -ECANCELED, and none is made, once exit_silent(). Whoever begins the exit
// waits for those that passed the check before (exit_begins): either the call is counted when it looks, or
// `exiting` is seen here after the count.
static inline long guest_syscall(long nr, long a, long b, long c, long d, long e, long f)
{
	uint32_t *calling = &ctp_tracer->calling;
	ctp_order_add32(calling, 1);
	long r = ctp_order_load32(&ctp_tracer->exiting) && exit_has_threads() ?
		       -ECANCELED :
		       cpu_syscall(nr, a, b, c, d, e, f);
	ctp_order_add32(calling, -1U);
	return r;
}
