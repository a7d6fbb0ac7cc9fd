// SPDX-License-Identifier: MIT
//
// ring.h - one ring of 16-byte slots per thread: one writer (the thread), one
// reader (the engine). head and tail count slots and never wrap. The writer
// publishes whole records by storing head (release); the reader frees by storing
// tail (release). A full ring drops the record and counts it.
//
// The writer looks at one limit alone: `until`. It lies half a ring behind the tail as
// last seen, so that passing it is when the engine may want to be woken; then a whole one.
#pragma once

#include "ctp/seq.h"

// Writer: slots published so far.
static inline uint64_t ctp_ring_head(const struct ctp_thread *t)
{
	return atomic_load_explicit((const ctp_a64 *)&t->head, memory_order_relaxed);
}

// Writer: may n slots be written from `head` on, by what is known?
static inline bool ctp_ring_fits(const struct ctp_thread *t, uint64_t head, unsigned n)
{
	return head + n <= t->until;
}

enum ctp_ring_room { CTP_RING_FULL, CTP_RING_HALF, CTP_RING_ROOM };

// Writer: the same with another look at the tail (partner: ctp_ring_taken). HALF: there is
// room, and the reader is late.
static inline enum ctp_ring_room ctp_ring_look(struct ctp_thread *t, uint64_t capacity, uint64_t head,
					       unsigned n)
{
	uint64_t tail = ctp_load64(&t->tail), half = tail + capacity / 2;
	t->until = head + n <= half ? half : tail + capacity;
	return head + n > t->until ? CTP_RING_FULL : t->until == half ? CTP_RING_ROOM : CTP_RING_HALF;
}

static inline struct ctp_record *ctp_ring_slot(struct ctp_record *ring, uint64_t capacity, uint64_t at)
{
	return &ring[at & (capacity - 1)];
}

// Writer: the slots up to `head` are whole records. Partner: ctp_ring_ready.
static inline void ctp_ring_publish(struct ctp_thread *t, uint64_t head)
{
	ctp_store64(&t->head, head);
}

static inline void ctp_ring_drop(struct ctp_thread *t)
{
	atomic_store_explicit(CTP_A64(&t->lost),
			      atomic_load_explicit(CTP_A64(&t->lost), memory_order_relaxed) + 1,
			      memory_order_relaxed);
}

// Writer: a thread begins, with the ring as the last one left it.
static inline void ctp_ring_begin(struct ctp_thread *t)
{
	t->head = t->until = t->tail;
	t->near = CTP_NEAR_UNSURE;
}

// Another thread enters who runs here: what this one leaves with is not what it entered with.
static inline void ctp_ring_unsure(struct ctp_thread *t, uint64_t how)
{
	atomic_store_explicit(CTP_A64(&t->near), how, memory_order_relaxed);
}

// Reader: how many slots lie ready from *tail on. A region that claims more
// than the ring holds is hostile or torn: then 0 and *bad is set.
static inline uint64_t ctp_ring_ready(const struct ctp_thread *t, uint64_t tail, uint64_t capacity, bool *bad)
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
