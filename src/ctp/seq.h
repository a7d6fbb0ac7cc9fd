// SPDX-License-Identifier: MIT
//
// seq.h - the sequence-lock protocol of slots, stations and fd entries: seq
// odd = being written, even = published. One writer at a time (a station
// belongs to the thread that runs it; an fd entry is taken by compare-and-swap).
//
// Version 1's texts disagree about the order of the writer's steps; this is
// what its running code does (odd, payload, even), with the fences that a
// weakly-ordered CPU needs: the odd store must not sink below the payload
// (release fence after it), and the reader's second look must not rise above
// its copy (acquire fence before it). See Boehm, "Can seqlocks get along with
// programming language memory models?", MSPC 2012.
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "ctp/ctp.h"

typedef _Atomic(uint32_t) ctp_a32;
typedef _Atomic(uint64_t) ctp_a64;
#define CTP_A32(p) ((ctp_a32 *)(p))
#define CTP_A64(p) ((ctp_a64 *)(p))

static inline uint32_t ctp_load32(const uint32_t *p)
{
	return atomic_load_explicit((const ctp_a32 *)p, memory_order_acquire);
}
static inline uint64_t ctp_load64(const uint64_t *p)
{
	return atomic_load_explicit((const ctp_a64 *)p, memory_order_acquire);
}
static inline void ctp_store32(uint32_t *p, uint32_t v)
{
	atomic_store_explicit(CTP_A32(p), v, memory_order_release);
}
static inline void ctp_store64(uint64_t *p, uint64_t v)
{
	atomic_store_explicit(CTP_A64(p), v, memory_order_release);
}
static inline uint32_t ctp_add32(uint32_t *p, uint32_t v)
{
	return atomic_fetch_add_explicit(CTP_A32(p), v, memory_order_acq_rel);
}
static inline uint64_t ctp_add64(uint64_t *p, uint64_t v)
{
	return atomic_fetch_add_explicit(CTP_A64(p), v, memory_order_acq_rel);
}
static inline void ctp_or32(uint32_t *p, uint32_t v)
{
	if (!(atomic_load_explicit(CTP_A32(p), memory_order_relaxed) & v))
		atomic_fetch_or_explicit(CTP_A32(p), v, memory_order_release);
}
static inline bool ctp_cas32(uint32_t *p, uint32_t from, uint32_t to)
{
	return atomic_compare_exchange_strong_explicit(CTP_A32(p), &from, to, memory_order_acq_rel,
						       memory_order_acquire);
}
static inline bool ctp_cas64(uint64_t *p, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(CTP_A64(p), &from, to, memory_order_acq_rel,
						       memory_order_acquire);
}

// Writer. Partner: ctp_seq_read_begin/retry in whoever reads. Returns what
// ctp_seq_end_at may be given. (| 1: a writer that was jumped out of left it odd.)
static inline uint32_t ctp_seq_begin(uint32_t *seq)
{
	uint32_t v = atomic_load_explicit(CTP_A32(seq), memory_order_relaxed) | 1;
	atomic_store_explicit(CTP_A32(seq), v, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	return v;
}
static inline void ctp_seq_end_at(uint32_t *seq, uint32_t begun)
{
	atomic_store_explicit(CTP_A32(seq), begun + 1, memory_order_release);
}
static inline void ctp_seq_end(uint32_t *seq)
{
	uint32_t v = atomic_load_explicit(CTP_A32(seq), memory_order_relaxed);
	atomic_store_explicit(CTP_A32(seq), v + 1, memory_order_release);
}

// Reader: begin returns the sequence to hand to `retry` after the copy; an
// odd one never passes. A reader bounds its own retries: the writer may have
// been killed in the middle.
static inline uint32_t ctp_seq_read_begin(const uint32_t *seq)
{
	return ctp_load32(seq);
}
static inline bool ctp_seq_read_retry(const uint32_t *seq, uint32_t begun)
{
	atomic_thread_fence(memory_order_acquire);
	return (begun & 1) || atomic_load_explicit((const ctp_a32 *)seq, memory_order_relaxed) != begun;
}

// Version-1 slot: writes event n (1 is the station's first).
static inline void ctp_slot_write(struct ctp_slot *slots, uint64_t n, uint64_t ns, uint64_t tid,
				  uint64_t addr, bool active)
{
	struct ctp_slot *s = &slots[(n - 1) % CTP_SLOTS];
	uint64_t seq = atomic_load_explicit(CTP_A64(&s->seq), memory_order_relaxed);
	atomic_store_explicit(CTP_A64(&s->seq), seq + 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	atomic_store_explicit(CTP_A64(&s->timestamp_ns), ns, memory_order_relaxed);
	atomic_store_explicit(CTP_A64(&s->tid), tid, memory_order_relaxed);
	atomic_store_explicit(CTP_A64(&s->addr), addr, memory_order_relaxed);
	atomic_store_explicit((_Atomic(uint8_t) *)&s->is_active, active, memory_order_relaxed);
	atomic_store_explicit(CTP_A64(&s->seq), seq + 2, memory_order_release);
}

// Version-1 slot: copies slot i if it is published and newer than `seen`.
// Returns the event's number n (from lap and slot), 0 if there is none.
static inline uint64_t ctp_slot_read(const struct ctp_slot *slots, unsigned i, uint64_t seen,
				     struct ctp_slot *out)
{
	const struct ctp_slot *s = &slots[i];
	uint64_t seq = ctp_load64(&s->seq);
	if ((seq & 1) || seq <= seen)
		return 0;
	out->timestamp_ns = atomic_load_explicit((const ctp_a64 *)&s->timestamp_ns, memory_order_relaxed);
	out->tid = atomic_load_explicit((const ctp_a64 *)&s->tid, memory_order_relaxed);
	out->addr = atomic_load_explicit((const ctp_a64 *)&s->addr, memory_order_relaxed);
	out->is_active = atomic_load_explicit((const _Atomic(uint8_t) *)&s->is_active, memory_order_relaxed);
	out->seq = seq;
	atomic_thread_fence(memory_order_acquire);
	if (atomic_load_explicit((const ctp_a64 *)&s->seq, memory_order_relaxed) != seq)
		return 0;
	return (seq / 2 - 1) * CTP_SLOTS + i + 1;
}

// Copies a station's present state. False if it was being written all along.
static inline bool ctp_state_read(const struct ctp_state *s, struct ctp_state *out)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint32_t seq = ctp_seq_read_begin(&s->seq);
		if (seq & 1)
			continue;
		memcpy(out, s, sizeof(*out));
		if (!ctp_seq_read_retry(&s->seq, seq))
			return true;
	}
	return false;
}
