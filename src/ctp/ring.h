// SPDX-License-Identifier: MIT
//
// ring.h - one ring of 32-byte records per thread: one writer (the thread),
// one reader (the engine). head and tail count records and never wrap. The
// writer publishes by storing head (release); the reader frees by storing
// tail (release). A full ring drops the record and counts it.
#pragma once

#include "ctp/seq.h"

// Writer: records published so far.
static inline uint64_t ctp_ring_head(const struct ctp_thread *t)
{
	return atomic_load_explicit((const ctp_a64 *)&t->head, memory_order_relaxed);
}

// Writer: where the next record goes, or NULL if the ring is full. The record
// becomes visible with ctp_ring_publish.
static inline struct ctp_record *ctp_ring_next(struct ctp_thread *t, struct ctp_record *ring,
					       uint64_t capacity, uint64_t head)
{
	if (head - t->tail_seen >= capacity) {
		t->tail_seen = ctp_load64(&t->tail); // partner: ctp_ring_taken
		if (head - t->tail_seen >= capacity)
			return NULL;
	}
	return &ring[head & (capacity - 1)];
}

// Writer. Partner: ctp_ring_ready. The record is the one after `head` others.
static inline void ctp_ring_publish(struct ctp_thread *t, uint64_t head)
{
	ctp_store64(&t->head, head + 1);
}

static inline void ctp_ring_drop(struct ctp_thread *t)
{
	atomic_store_explicit(CTP_A64(&t->lost),
			      atomic_load_explicit(CTP_A64(&t->lost), memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

// Reader: how many records lie ready from *tail on. A region that claims more
// than the ring holds is hostile or torn: then 0 and *bad is set.
static inline uint64_t ctp_ring_ready(const struct ctp_thread *t, uint64_t tail, uint64_t capacity,
				      bool *bad)
{
	uint64_t n = ctp_load64(&t->head) - tail;
	*bad = n > capacity;
	return *bad ? 0 : n;
}

// Reader: gives everything before `tail` back to the writer.
static inline void ctp_ring_taken(struct ctp_thread *t, uint64_t tail)
{
	ctp_store64(&t->tail, tail);
}
