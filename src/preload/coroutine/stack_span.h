// SPDX-License-Identifier: MIT
//
// stack_span.h - places where stacks are made again and again. A pool, or malloc, gives a stack the memory
// of one that is no more, with the same bounds. The pages of such a place name a span in stack_index.c in
// place of an entity, and the span names the entity: the next one is entered by one store, whatever its
// size. A span is whole while every page of it says so; a stack that takes some of them breaks it first.
// Lock-free: what is read of a span counts if its word is the same afterwards.
#pragma once

#include "preload/guest/guest.h"

#define SPAN_NUMBER (1U << 31) // in a page's entry: the rest is a span's number, not an entity's

struct span {
	uint64_t word;   // station number + 1 | enum span_kind << 32 | how often that changed << 34
	uint64_t lo, hi; // written only while it is entered
	uint64_t unused; // two of them in a cache line
};
enum span_kind {
	SPAN_BROKEN,  // pages of it may say something else
	SPAN_ENTERED, // a thread is entering it
	SPAN_SPOILT,  // and another has taken pages of it meanwhile
	SPAN_WHOLE,
};
extern struct span *span_all;

int span_init(void); // 0, or -1 if there is no memory

static inline struct span *span_at(uint32_t entry)
{
	return &span_all[entry & ~SPAN_NUMBER];
}

// A page's entry, which may name a span: the entity's station number + 1.
static inline uint32_t span_owner(uint32_t entry)
{
	return CTP_UNLIKELY(entry & SPAN_NUMBER) ? (uint32_t)ctp_load64(&span_at(entry)->word) : entry;
}

// Its upper end, if it is whole; else 0.
uint64_t span_whole_end(uint32_t entry);
// Pages of [lo, hi) are taken: with `all`, others that lie in a page of it as well.
void span_break(uint32_t entry, uint64_t lo, uint64_t hi, bool all);

// The whole span [lo, hi) has a new owner: true, and who it was (number + 1). False: there is none.
bool span_again(uint64_t lo, uint64_t hi, uint32_t owner, uint32_t *was);
// A span to be entered; 0: none is free. Pages that may name it still, as its bounds were others, are
// [*lo, *hi), and its owner was *was.
uint32_t span_take(uint64_t lo, uint64_t hi, uint64_t *old_lo, uint64_t *old_hi, uint32_t *was);
// No page names it any more by its old bounds. It is [lo, hi) from now on.
void span_begin(uint32_t entry, uint64_t lo, uint64_t hi, uint32_t owner);
// Every page names it, or, if not `good`, not.
void span_end(uint32_t entry, bool good);
