// SPDX-License-Identifier: MIT
//
// emit.h - the fast path of one record into the ring.
#pragma once

#include "cpu.h"
#include "preload/guest/clock.h"
#include "preload/guest/guest.h"

static inline uint64_t emit_now(void)
{
	return CTP_LIKELY(ctp_tracer->tsc) ? CTP_TIME_READ(cpu_ticks()) : guest_now();
}

void emit_init(void); // before any time is read
// Whether the engine's process is still there, and no zombie.
bool emit_lives(uint32_t engine);
// --overflow=block: naps and wakes the engine until is_there(arg). False: the engine is gone, or its
// heartbeat has stood still for half a minute, or exit handlers run.
bool emit_wait(bool (*is_there)(void *arg), void *arg);
// Room for a record of so many slots, made `now`; where it begins is known only after this. False: it is
// lost, and counted.
bool emit_has_room(struct thread_ctx *g, unsigned slots, uint64_t now);
void emit_end(struct thread_ctx *g); // the thread's last record has been made

// A switch, as it is about to happen: both with the numbers of their changes.
struct emit_switch {
	uint64_t now, from, from_n, to, to_n;
	unsigned how;
	uint32_t stack; // the outgoing coroutine's
};

// In two slots, or into a ring that is full by what is known.
void emit_switch_slow(struct thread_ctx *g, const struct emit_switch *s);

static inline __attribute__((always_inline)) void emit_switch(struct thread_ctx *g,
							      const struct emit_switch *s)
{
	struct ctp_thread *t = g->thread;
	uint64_t head = ctp_ring_head(t), to = s->to - t->near;
	if (CTP_UNLIKELY(to >= CTP_SHORT_NATIVE || (s->to_n & CTP_TOLD_MASK) == CTP_TOLD ||
			 !ctp_ring_fits(t, head, 1))) {
		emit_switch_slow(g, s);
		return;
	}
	ctp_record_set_short(ctp_ring_slot(g->ring, g->ring_capacity, head), s->now, s->how, to, s->stack,
			     s->to_n);
	ctp_ring_publish(t, head + 1);
}

// As emit_at, where there is no version-1 engine.
static inline __attribute__((always_inline)) void emit_two(struct thread_ctx *g, uint64_t now, uint64_t w1,
							   uint64_t w2, uint64_t w3)
{
	struct ctp_thread *t = g->thread;
	uint64_t head = ctp_ring_head(t);
	if (CTP_UNLIKELY(!ctp_ring_fits(t, head, 2))) {
		emit_at(g, now, w1, w2, w3);
		return;
	}
	ctp_record_set(&g->ring[head & g->ring_mask], &g->ring[(head + 1) & g->ring_mask], now, w1, w2, w3);
	ctp_ring_publish(t, head + 2);
}

// `thread` runs an entity that g enters now, which does not leave either of them as it was entered there.
void emit_unsure(struct thread_ctx *g, uint32_t thread);
