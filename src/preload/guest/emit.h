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
// heartbeat has stood still for half a minute, it was detached a while ago, or exit handlers run.
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

// The place of a record that takes one slot, and the word in it that names the incoming coroutine.
struct emit_place {
	uint64_t head, to;
};

// False: it takes two slots, or the ring is full by what is known.
static inline __attribute__((always_inline)) bool emit_place(const struct thread_ctx *g, uint64_t to,
							     uint64_t to_n, struct emit_place *p)
{
	const struct ctp_thread *t = g->thread;
	p->head = ctp_ring_head(t);
	p->to = to - t->near;
	if (CTP_UNLIKELY(p->to >= CTP_SHORT_NATIVE)) {
		if (to != t->native || t->near > CTP_ID_MASK)
			return false;
		p->to = CTP_SHORT_NATIVE;
	}
	return CTP_LIKELY((to_n & CTP_TOLD_MASK) != CTP_TOLD && ctp_ring_fits(t, p->head, 1));
}

// The record, which nobody sees before it is published: its number is p->head.
static inline __attribute__((always_inline)) void emit_put(struct thread_ctx *g, const struct emit_place *p,
							   uint64_t now, unsigned how, uint32_t stack,
							   uint64_t to_n)
{
	ctp_record_set_short(&g->ring[p->head & g->ring_mask], now, how, p->to, stack, to_n);
}

static inline __attribute__((always_inline)) void emit_switch(struct thread_ctx *g,
							      const struct emit_switch *s)
{
	struct emit_place p;
	if (CTP_UNLIKELY(!emit_place(g, s->to, s->to_n, &p))) {
		emit_switch_slow(g, s);
		return;
	}
	emit_put(g, &p, s->now, s->how, s->stack, s->to_n);
	ctp_ring_publish(g->thread, p.head + 1);
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
