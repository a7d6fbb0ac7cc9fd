// SPDX-License-Identifier: MIT
//
// clock.h - the adaptive clock (docs/performance.md). To read the clock is the dearest part of a
// switch. A thread that switches at a high rate reads it at every k-th switch only; a switch between
// two readings stores the last time given out and two ticks more, which makes it odd: an odd time says
// "then, or later", an even one is a reading. All times of one thread still rise.
//
// What lies between two readings is a window. A window of up to CTP_LATE_TICKS is a short one, and so far
// a time in it may be off. Those who left in a long one, and have not gone on, are told how long it was
// (ctp_state.late). While no reading has followed, nobody knows: a reader sees that by ctp_thread.time_read.
// Every hook closes the window first, as its call may block; after it the next switch takes a reading, so
// that what a hook noted at a time and what a switch did are in the order in which they happened.
// Whom another thread left is entered with a reading: no time falls within a coroutine.
#pragma once

#include "cpu.h"
#include "ctp/late.h"
#include "preload/guest/guest.h"

enum { CLOCK_RATE_SLOTS = 1024 }; // of a thread's ring: the rate is looked at as often
enum { CLOCK_SHORT = CTP_LATE_TICKS - 2 * GUEST_WINDOW }; // what is not above that is a short window

void clock_begin(struct thread_ctx *g);
// A thread has filled some of its ring up to `now`: how many switches may do with one reading from here on?
void clock_rate(struct thread_ctx *g, uint64_t now);
void clock_close_long(struct thread_ctx *g, uint64_t now);

// Is there a time without a reading that no reading has followed?
static inline bool clock_is_open(const struct thread_ctx *g)
{
	return g->clock_next && g->clock != g->thread->time_read - 1;
}

// The clock was read: `now`. The hook that calls this has the guard.
static inline void clock_close(struct thread_ctx *g, uint64_t now)
{
	if (CTP_UNLIKELY(g->clock_next))
		clock_close_long(g, now);
}

// The time of a switch that comes without any other call of a hook before it. False, and nothing has changed:
// the window has become a long one, and clock_close is to tell of it.
static inline __attribute__((always_inline)) bool clock_quick(struct thread_ctx *g, struct ctp_state *from,
							      const struct ctp_state *to, uint64_t *now)
{
	if (CTP_LIKELY(!g->clock_next)) {
		*now = CTP_TIME_READ(cpu_ticks());
		return true;
	}
	uint64_t at = ctp_ring_head(g->thread) & g->clock_mask;
	if (at && to->thread == g->slot) {
		g->window[at] = from;
		*now = g->clock += 2;
		return true;
	}
	*now = CTP_TIME_READ(cpu_ticks());
	if (*now - g->clock > CLOCK_SHORT)
		return false;
	g->clock = *now - 1;
	g->clock_mask = g->clock_next;
	ctp_store64(&g->thread->time_read, *now);
	return true;
}
