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

#include "ctp/ctp.h"
#include "ctp/race.h"

typedef _Atomic(uint32_t) ctp_a32;
typedef _Atomic(uint64_t) ctp_a64;
#define CTP_A32(p) ((ctp_a32 *)(p))
#define CTP_A64(p) ((ctp_a64 *)(p))

static inline uint32_t ctp_load32(const uint32_t *p)
{
	return atomic_load_explicit((const ctp_a32 *)p, memory_order_acquire);
}
static inline uint16_t ctp_load16(const uint16_t *p)
{
	return atomic_load_explicit((const _Atomic(uint16_t) *)p, memory_order_acquire);
}
static inline uint8_t ctp_load8(const uint8_t *p)
{
	return atomic_load_explicit((const _Atomic(uint8_t) *)p, memory_order_acquire);
}
static inline uint64_t ctp_load64(const uint64_t *p)
{
	return atomic_load_explicit((const ctp_a64 *)p, memory_order_acquire);
}
static inline void ctp_store16(uint16_t *p, uint16_t v)
{
	atomic_store_explicit((_Atomic(uint16_t) *)p, v, memory_order_release);
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

// In one order with each other, whatever they name: for two threads of which each writes one word and then
// reads the other's (Dekker), where acquire and release let both read what was before.
static inline uint32_t ctp_order_load32(const uint32_t *p)
{
	return atomic_load_explicit((const ctp_a32 *)p, memory_order_seq_cst);
}
static inline void ctp_order_store32(uint32_t *p, uint32_t v)
{
	atomic_store_explicit(CTP_A32(p), v, memory_order_seq_cst);
}
static inline uint32_t ctp_order_add32(uint32_t *p, uint32_t v)
{
	return atomic_fetch_add_explicit(CTP_A32(p), v, memory_order_seq_cst);
}
static inline uint64_t ctp_order_load64(const uint64_t *p)
{
	return atomic_load_explicit((const ctp_a64 *)p, memory_order_seq_cst);
}
static inline bool ctp_order_cas64(uint64_t *p, uint64_t from, uint64_t to)
{
	return atomic_compare_exchange_strong_explicit(CTP_A64(p), &from, to, memory_order_seq_cst,
						       memory_order_seq_cst);
}
// Bits of a word that several threads change.
static inline void ctp_order_or64(uint64_t *p, uint64_t v)
{
	atomic_fetch_or_explicit(CTP_A64(p), v, memory_order_seq_cst);
}
static inline void ctp_order_and64(uint64_t *p, uint64_t v)
{
	atomic_fetch_and_explicit(CTP_A64(p), v, memory_order_seq_cst);
}

// Pointers in the guest's own tables: what is stored has been filled in before, and is
// read after it was found. *is: what ctp_cas_ptr expects; if it fails, what was there.
#define ctp_load_ptr(p) __atomic_load_n((p), __ATOMIC_ACQUIRE)
#define ctp_store_ptr(p, v) __atomic_store_n((p), (v), __ATOMIC_RELEASE)
#define ctp_cas_ptr(p, is, to) \
	__atomic_compare_exchange_n((p), (is), (to), false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)

// What this thread did before is done when a signal handler of its own comes.
static inline void ctp_signal_fence(void)
{
	atomic_signal_fence(memory_order_seq_cst);
}

// An entry of a cache, by its key; 1: being written. Partner: each other. take: to fill it
// in, then store the key, _from: if it is `was` still; still: after a copy, whether it is whole.
static inline bool ctp_key_take_from(uint64_t *key, uint64_t was)
{
	if (was == 1 || !ctp_cas64(key, was, 1))
		return false;
	atomic_thread_fence(memory_order_release);
	return true;
}
static inline bool ctp_key_take(uint64_t *key)
{
	return ctp_key_take_from(key, ctp_load64(key));
}
static inline bool ctp_key_still(const uint64_t *key, uint64_t is)
{
	atomic_thread_fence(memory_order_acquire);
	return ctp_load64(key) == is;
}

// Writer. Partner: ctp_seq_read_begin/retry in whoever reads. (| 1: a writer that was jumped out of left it
// odd.)
static inline void ctp_seq_begin(uint32_t *seq)
{
	uint32_t v = atomic_load_explicit(CTP_A32(seq), memory_order_relaxed) | 1;
	atomic_store_explicit(CTP_A32(seq), v, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}
// The same for one writer of several: only if it still is `from`, which is even.
static inline bool ctp_seq_take(uint32_t *seq, uint32_t from)
{
	if ((from & 1) || !ctp_cas32(seq, from, from + 1))
		return false;
	atomic_thread_fence(memory_order_release);
	return true;
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

// A name: given by any thread, so taken first. False: another thread is at it.
static inline bool ctp_name_take(struct ctp_name *n)
{
	return ctp_seq_take(&n->seq, ctp_load32(&n->seq));
}
static inline void ctp_name_give(struct ctp_name *n)
{
	ctp_seq_end(&n->seq);
}
// Its copy, whole, and ending with a zero. False if it was being written all along.
static inline bool ctp_name_read(const struct ctp_name *n, struct ctp_name *out)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint32_t seq = ctp_seq_read_begin(&n->seq);
		ctp_copy(out, n, sizeof(*out));
		out->text[CTP_NAME_TEXT - 1] = 0;
		if (!ctp_seq_read_retry(&n->seq, seq))
			return true;
	}
	return false;
}
// Partner: whoever reads the map, then the names that it has a bit for.
static inline void ctp_name_map(uint64_t *map, uint64_t station)
{
	uint64_t bit = station / CTP_NAMES_EACH, mask = 1ULL << bit % 64;
	if (!(atomic_load_explicit(CTP_A64(&map[bit / 64]), memory_order_relaxed) & mask))
		atomic_fetch_or_explicit(CTP_A64(&map[bit / 64]), mask, memory_order_release);
}

static inline bool ctp_name_mapped(const uint64_t *map, uint64_t station)
{
	uint64_t bit = station / CTP_NAMES_EACH;
	return ctp_load64(&map[bit / 64]) >> bit % 64 & 1;
}

// A thread enters a wait: what it has seen of closes. What is noted of the wait after this
// is not seen before the end of the last one (partner: the engine's two looks at wait_seq).
static inline uint64_t ctp_wait_seen(struct ctp_thread *t, const struct ctp_ext *e)
{
	uint64_t seen = ctp_load64(&e->epoch);
	ctp_store64(&t->seen, seen);
	atomic_thread_fence(memory_order_release);
	return seen;
}

// Reader, after a copy of anything that an entry says of its wait: is it still in that wait?
static inline bool ctp_wait_still(const struct ctp_thread *t, uint64_t seq)
{
	atomic_thread_fence(memory_order_acquire);
	return atomic_load_explicit((const ctp_a64 *)&t->wait_seq, memory_order_relaxed) == seq;
}
// Copies a thread's entry. wait_seq is its sequence: while that stays odd, what the entry says of the wait
// stands still; while it stays even, nothing is said of any. False: a wait began or ended during each of the
// copies, and *out is of no one moment.
static inline bool ctp_thread_read(const struct ctp_thread *t, struct ctp_thread *out)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint64_t seq = ctp_load64(&t->wait_seq);
		ctp_copy(out, t, sizeof(*out));
		if (ctp_wait_still(t, seq))
			return true;
	}
	return false;
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

// After such a write: does the engine sleep, and is it ours to wake it? Partner: its store of
// tracer_sleeping, then its last scan.
static inline bool ctp_slot_must_wake(struct ctp_header *h)
{
	atomic_thread_fence(memory_order_seq_cst);
	return ctp_load32(&h->tracer_sleeping) == 1 && ctp_cas32(&h->tracer_sleeping, 1, 0);
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

// The same protocol for a station's state, whose sequence is part of the word that counts its
// changes. Partner: ctp_state_seen and _retry. Returns the word as it is while it is written.
static inline uint64_t ctp_state_begin(struct ctp_state *s)
{
	uint64_t v = atomic_load_explicit(CTP_A64(&s->turn), memory_order_relaxed) | 1;
	atomic_store_explicit(CTP_A64(&s->turn), v, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
	return v;
}
// For one writer of several: only if the word still is `from`, which is even.
static inline bool ctp_state_take(struct ctp_state *s, uint64_t from)
{
	if ((from & 1) || !ctp_cas64(&s->turn, from, from | 1))
		return false;
	atomic_thread_fence(memory_order_release);
	return true;
}
static inline void ctp_state_end(struct ctp_state *s)
{
	uint64_t v = atomic_load_explicit(CTP_A64(&s->turn), memory_order_relaxed);
	uint64_t seq = ((v | 1) + 1) & CTP_TURN_SEQ;
	atomic_store_explicit(CTP_A64(&s->turn), (v & ~(uint64_t)CTP_TURN_SEQ) | seq, memory_order_release);
}
// The same, where it was a change of state. `nwaits` stays as it is.
static inline void ctp_state_end_change(struct ctp_state *s, enum ctp_life life)
{
	uint64_t v = atomic_load_explicit(CTP_A64(&s->turn), memory_order_relaxed);
	v = ((v >> CTP_TURN_CHANGES) + 1) << CTP_TURN_CHANGES | (uint64_t)life << CTP_TURN_LIFE |
	    (v & CTP_TURN_WAITS);
	atomic_store_explicit(CTP_A64(&s->turn), v, memory_order_release);
}
// The same in two steps, for a writer that knows the word as it is: `seen`, even. next: that word after a
// change. (The low byte is seq and nwaits: while it is written, nobody asks what it was.)
static inline __attribute__((always_inline)) void ctp_state_begin_known(struct ctp_state *s)
{
	atomic_store_explicit((_Atomic(uint8_t) *)&s->turn, 1, memory_order_relaxed);
	atomic_thread_fence(memory_order_release);
}
static inline __attribute__((always_inline)) void ctp_state_end_known(struct ctp_state *s, uint64_t next)
{
	atomic_store_explicit(CTP_A64(&s->turn), next, memory_order_release);
}
static inline uint64_t ctp_turn_next(uint64_t seen, enum ctp_life life, unsigned nwaits)
{
	return (seen | 0xffff) + 1 + ((uint64_t)life << CTP_TURN_LIFE | nwaits * (CTP_TURN_SEQ + 1));
}
// Does it live so, with so many waits, and does nobody write it? (It may have been written since its last
// change.)
static inline bool ctp_turn_is(uint64_t seen, enum ctp_life life, unsigned nwaits)
{
	return (uint16_t)seen == ((uint64_t)life << CTP_TURN_LIFE | nwaits * (CTP_TURN_SEQ + 1));
}
static inline uint64_t ctp_state_seen(const struct ctp_state *s)
{
	return ctp_load64(&s->turn);
}
static inline bool ctp_state_retry(const struct ctp_state *s, uint64_t seen)
{
	atomic_thread_fence(memory_order_acquire);
	return (seen & 1) || atomic_load_explicit((const ctp_a64 *)&s->turn, memory_order_relaxed) != seen;
}

static inline uint64_t ctp_state_changes(const struct ctp_state *s)
{
	return ctp_load64(&s->turn) >> CTP_TURN_CHANGES;
}

// Copies a station's present state. False if it was being written all along.
static inline bool ctp_state_read(const struct ctp_state *s, struct ctp_state *out)
{
	for (int tries = 0; tries < 1000; tries++) {
		uint64_t seen = ctp_state_seen(s);
		if (seen & 1)
			continue;
		ctp_copy(out, s, sizeof(*out));
		if (!ctp_state_retry(s, seen))
			return true;
	}
	return false;
}

// Has its exit begun, or did it take a signal by which it may end?
static inline bool ctp_told_to_end(const struct ctp_ext *e)
{
	return ctp_load64(&e->exit_begun) || ctp_load64(&e->signal_taken) || ctp_load64(&e->asked_last);
}
