// SPDX-License-Identifier: MIT
//
// emit.h - the fast way of one record into the ring.
#pragma once

#include "cpu.h"
#include "guest.h"

static inline uint64_t emit_now(void)
{
	return CTP_LIKELY(ctp_tracer->tsc) ? cpu_ticks() : guest_now();
}

void emit_init(void); // before any time is read
struct ctp_record *emit_full(struct guest *g); // ring is full: drops (NULL) or waits
void emit_half(void); // ring is past half full

static inline void emit_at(struct guest *g, uint64_t now, uint64_t w1, uint64_t w2, uint64_t w3)
{
	uint64_t head = ctp_ring_head(g->thread);
	struct ctp_record *r = ctp_ring_next(g->thread, g->ring, g->ring_capacity, head);
	if (CTP_UNLIKELY(!r) && !(r = emit_full(g)))
		return;
	*r = (struct ctp_record){now, w1, w2, w3};
	ctp_ring_publish(g->thread, head);
	if (CTP_UNLIKELY(head + 1 - g->thread->tail_seen == g->ring_capacity / 2))
		emit_half();
}
