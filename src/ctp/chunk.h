// SPDX-License-Identifier: MIT
//
// chunk.h - the pool of chunks that replaces the rings under --flight. A thread takes the
// chunk that was begun longest ago and that no other thread writes to, and overwrites it.
// No writer waits and no reader is asked: whoever copies a chunk checks its `seq` afterwards,
// as with a sequence lock, and discards the copy if the chunk was taken anew.
//
// The writer's fast path is that of ring.h: `until` is at the chunk's end, and the ring's
// address is chosen such that the chunk's slots have the addresses that their numbers give.
#pragma once

#include "ctp/region.h"
#include "ctp/ring.h"

// How many chunks lie in so much memory.
static inline uint32_t ctp_chunks_max(uint64_t bytes)
{
	return (uint32_t)(bytes / (CTP_CHUNK_BYTES + sizeof(struct ctp_chunk)));
}

static inline struct ctp_record *ctp_chunk_slots(const struct ctp_region *r, uint32_t i)
{
	return (struct ctp_record *)(r->rings + (uint64_t)i * CTP_CHUNK_BYTES);
}
static inline struct ctp_chunk *ctp_chunk(const struct ctp_region *r, uint32_t i)
{
	return (struct ctp_chunk *)ctp_chunk_slots(r, r->chunks) + i;
}

// Writer: nothing more comes into it. used: slots.
static inline void ctp_chunk_end(struct ctp_chunk *c, uint64_t used, uint64_t lost)
{
	atomic_store_explicit(CTP_A32(&c->used), (uint32_t)used, memory_order_relaxed);
	atomic_store_explicit(CTP_A64(&c->lost), lost, memory_order_relaxed);
	ctp_store64(&c->seq, atomic_load_explicit((const ctp_a64 *)&c->seq, memory_order_relaxed) + 1);
}

// Writer: takes a chunk for its slots from is->first on. NULL: threads write in all of them.
static inline struct ctp_chunk *ctp_chunk_take(const struct ctp_region *r, const struct ctp_chunk *is,
					       uint32_t *at)
{
	for (uint32_t tries = 0; tries < r->chunks; tries++) {
		uint32_t i = (uint32_t)(ctp_add64(&r->ext->chunk_next, 1) % r->chunks);
		struct ctp_chunk *c = ctp_chunk(r, i);
		uint64_t seq = ctp_load64(&c->seq);
		if ((seq & 1) || !ctp_cas64(&c->seq, seq, seq + 1))
			continue;
		atomic_thread_fence(memory_order_release); // what is overwritten now was taken before.
							   // Partner: ctp_chunk_is
		atomic_store_explicit(CTP_A64(&c->first), is->first, memory_order_relaxed);
		atomic_store_explicit(CTP_A32(&c->thread), is->thread, memory_order_relaxed);
		atomic_store_explicit(CTP_A32(&c->use), is->use, memory_order_relaxed);
		atomic_store_explicit(CTP_A32(&c->tid), is->tid, memory_order_relaxed);
		atomic_store_explicit(CTP_A64(&c->native), is->native, memory_order_relaxed);
		atomic_store_explicit(CTP_A64(&c->time), is->time, memory_order_relaxed);
		ctp_store64(&c->ready, seq + 1);
		*at = i;
		return c;
	}
	return NULL;
}

// Reader, after a copy of anything of the chunk: was it in the hand that `taken` (odd) says all the while?
static inline bool ctp_chunk_is(const struct ctp_chunk *c, uint64_t taken)
{
	atomic_thread_fence(memory_order_acquire);
	uint64_t seq = atomic_load_explicit((const ctp_a64 *)&c->seq, memory_order_relaxed);
	return seq == taken || seq == taken + 1;
}

// Reader: what it says, with `seq` always odd, and `used` and `lost` as of now. False: nothing, or
// not the same for long enough. The thread's head counts slots of this chunk only while the thread
// writes in it: one that ends a chunk early (its next record takes two slots, and one is left) sets
// head to the next chunk's first number, and the slot between holds a record of an older lap. A
// reader that has seen such a head sees the end of the chunk, too (partner: ctp_chunk_end, which
// comes before ctp_ring_publish).
static inline bool ctp_chunk_look(const struct ctp_region *r, uint32_t i, struct ctp_chunk *is)
{
	const struct ctp_chunk *c = ctp_chunk(r, i);
	for (int tries = 0; tries < 3; tries++) {
		uint64_t seq = ctp_load64(&c->seq), taken = seq & 1 ? seq : seq - 1;
		if (!seq || ctp_load64(&c->ready) != taken)
			continue;
		is->seq = is->ready = taken;
		is->first = atomic_load_explicit((const ctp_a64 *)&c->first, memory_order_relaxed);
		is->thread = atomic_load_explicit((const ctp_a32 *)&c->thread, memory_order_relaxed);
		is->use = atomic_load_explicit((const ctp_a32 *)&c->use, memory_order_relaxed);
		is->tid = atomic_load_explicit((const ctp_a32 *)&c->tid, memory_order_relaxed);
		is->used = atomic_load_explicit((const ctp_a32 *)&c->used, memory_order_relaxed);
		is->native = atomic_load_explicit((const ctp_a64 *)&c->native, memory_order_relaxed);
		is->time = atomic_load_explicit((const ctp_a64 *)&c->time, memory_order_relaxed);
		is->lost = atomic_load_explicit((const ctp_a64 *)&c->lost, memory_order_relaxed);
		if (is->thread >= r->threads_max)
			return false;
		if (seq & 1) { // its thread is at it
			const struct ctp_thread *t = &r->threads[is->thread];
			uint64_t used = ctp_load64(&t->head) - is->first;
			is->used = used > CTP_CHUNK_SLOTS ? CTP_CHUNK_SLOTS + 1 : (uint32_t)used;
			is->lost = atomic_load_explicit((const ctp_a64 *)&t->lost, memory_order_relaxed);
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load_explicit((const ctp_a64 *)&c->seq, memory_order_relaxed) != taken)
				continue;
		}
		if (ctp_chunk_is(c, taken) && is->used <= CTP_CHUNK_SLOTS)
			return true;
	}
	return false;
}

// Reader: its slots as ctp_chunk_look told of them. False: it was taken anew meanwhile.
static inline bool ctp_chunk_read(const struct ctp_region *r, uint32_t i, const struct ctp_chunk *is,
				  struct ctp_record *slots)
{
	const struct ctp_record *from = ctp_chunk_slots(r, i);
	for (uint32_t k = 0; k < is->used; k++) {
		slots[k].w0 = atomic_load_explicit((const ctp_a64 *)&from[k].w0, memory_order_relaxed);
		slots[k].w1 = atomic_load_explicit((const ctp_a64 *)&from[k].w1, memory_order_relaxed);
	}
	return ctp_chunk_is(ctp_chunk(r, i), is->seq);
}
