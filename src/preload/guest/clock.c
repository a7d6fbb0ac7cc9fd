// SPDX-License-Identifier: MIT
//
// The adaptive clock: how many switches share a reading, and what becomes of a window that was long.
#include "preload/guest/clock.h"

// Coroutines that were suspended in the window, and not resumed since, were suspended at some time in it.
static void tell(struct thread_ctx *g, uint64_t now)
{
	for (unsigned i = 0; i < GUEST_WINDOW; i++) {
		struct ctp_state *s = g->window[i];
		g->window[i] = NULL;
		if (!s)
			continue;
		uint64_t seen = ctp_state_seen(s);
		if (s->life != CTP_SUSPENDED || s->thread != g->slot || CTP_TIME_IS_READ(s->since) ||
		    s->since <= g->thread->time_read || !ctp_state_take(s, seen))
			continue;
		s->late = ctp_late_for(now - s->since);
		ctp_state_end(s);
	}
}

static void share(struct thread_ctx *g, uint32_t next)
{
	g->clock_next = next;
	g->plain = !next && g->fds_max;
}

void clock_close_long(struct thread_ctx *g, uint64_t now)
{
	if (now <= g->clock)
		return;
	if (now - g->clock > CLOCK_SHORT) {
		tell(g, now);
		if (!ctp_tracer->sparse)
			share(g, g->clock_next >> 1);
	}
	g->clock = now - 1;
	g->clock_mask = g->clock_next;
	ctp_store64(&g->thread->time_read, now);
}

void clock_begin(struct thread_ctx *g)
{
	if (ctp_tracer->sparse && !g->never)
		share(g, GUEST_WINDOW - 1);
	g->rate_since = guest_now();
	g->rate_head = ctp_ring_head(g->thread);
}

// As many as fit well into a short window.
void clock_rate(struct thread_ctx *g, uint64_t now)
{
	uint64_t head = ctp_ring_head(g->thread), n = head - g->rate_head, ticks = now - g->rate_since;
	if (n < CLOCK_RATE_SLOTS / 2 || !ctp_tracer->adaptive || g->never)
		return;
	clock_close(g, now);
	uint32_t k = GUEST_WINDOW;
	while (k > 1 && ticks / n * k > CTP_LATE_TICKS / 4 * 3)
		k /= 2;
	bool begins = !g->clock_next && k > 1;
	share(g, k - 1);
	g->clock_mask = 0; // until the next reading
	if (begins) {      // nothing is in a window yet
		g->clock = now - 1;
		ctp_store64(&g->thread->time_read, now);
	}
	g->rate_head = head;
	g->rate_since = now;
}
