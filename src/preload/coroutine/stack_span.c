// SPDX-License-Identifier: MIT
//
// The table of spans: of fixed size, by a hash of the lower end, in sets of WAYS. A place gets a span when a
// stack is made there the second time. A span whose owner is no more makes room for another place, but
// seldom, as its pages must be rewritten first: where places do not come again, each stack is entered page
// by page, and costs what that costs.
#include "preload/coroutine/stack_span.h"

#include "preload/coroutine/station.h"

enum { SPANS = 1 << 14, WAYS = 4, SELDOM = 16 };
enum { KIND_SHIFT = 32, TURN_SHIFT = 34 };

struct span *span_all;
static uint32_t wanted; // how often one was wanted where none is free

int span_init(void)
{
	span_all = memory_take(sizeof(*span_all) * SPANS);
	return span_all ? 0 : -1;
}

static inline enum span_kind kind_of(uint64_t word)
{
	return word >> KIND_SHIFT & 3;
}

// What follows `word`.
static inline uint64_t next(uint64_t word, uint32_t owner, enum span_kind kind)
{
	return ((word >> TURN_SHIFT) + 1) << TURN_SHIFT | (uint64_t)kind << KIND_SHIFT | owner;
}

static inline struct span *set_of(uint64_t lo)
{
	return &span_all[(lo >> 4) * 0x9E3779B97F4A7C15ULL >> 50 & (SPANS - WAYS)];
}

static inline bool is(const struct span *s, uint64_t lo, uint64_t hi)
{
	return ctp_load64(&s->lo) == lo && ctp_load64(&s->hi) == hi;
}

uint64_t span_whole_end(uint32_t entry)
{
	const struct span *s = span_at(entry);
	uint64_t word = ctp_load64(&s->word), hi = ctp_load64(&s->hi);
	return kind_of(word) == SPAN_WHOLE && ctp_load64(&s->word) == word ? hi : 0;
}

void span_break(uint32_t entry, uint64_t lo, uint64_t hi, bool all)
{
	struct span *s = span_at(entry);
	for (;;) {
		uint64_t word = ctp_load64(&s->word);
		enum span_kind kind = kind_of(word);
		bool theirs = ctp_load64(&s->lo) >= hi || ctp_load64(&s->hi) <= lo;
		if (kind == SPAN_BROKEN || kind == SPAN_SPOILT || (theirs && !all && kind == SPAN_WHOLE))
			return;
		kind = kind == SPAN_ENTERED ? SPAN_SPOILT : SPAN_BROKEN;
		if (ctp_cas64(&s->word, word, next(word, (uint32_t)word, kind)))
			return;
	}
}

bool span_again(uint64_t lo, uint64_t hi, uint32_t owner, uint32_t *was)
{
	struct span *s = set_of(lo);
	for (unsigned i = 0; i < WAYS; i++, s++) {
		uint64_t word = ctp_load64(&s->word);
		if (!is(s, lo, hi))
			continue;
		*was = (uint32_t)word;
		return kind_of(word) == SPAN_WHOLE &&
		       ctp_cas64(&s->word, word, next(word, owner, SPAN_WHOLE));
	}
	return false;
}

// Is nobody there by whom it would be looked up?
static bool is_free(const struct span *s, uint64_t word)
{
	const struct ctp_state *o = station_at((uint32_t)word);
	return !o || o->life == CTP_FINISHED || o->life == CTP_DESTROYED || o->lo != s->lo || o->hi != s->hi;
}

static bool take(struct span *s, uint64_t word)
{
	enum span_kind kind = kind_of(word);
	return (kind == SPAN_BROKEN || kind == SPAN_WHOLE) &&
	       ctp_cas64(&s->word, word, next(word, (uint32_t)word, SPAN_ENTERED));
}

uint32_t span_take(uint64_t lo, uint64_t hi, uint64_t *old_lo, uint64_t *old_hi, uint32_t *was)
{
	struct span *set = set_of(lo), *s = NULL;
	uint64_t word = 0;
	for (unsigned i = 0; i < WAYS && !(s && is(s, lo, hi)); i++) {
		uint64_t w = ctp_load64(&set[i].word);
		if (is(&set[i], lo, hi) || (!s && is_free(&set[i], w))) {
			s = &set[i];
			word = w;
		}
	}
	bool fresh = s && (is(s, lo, hi) || is(s, 0, 0));
	if (!s || (!fresh && ctp_add32(&wanted, 1) % SELDOM) || !take(s, word))
		return 0;
	*old_lo = s->lo;
	*old_hi = s->hi;
	*was = (uint32_t)word;
	return SPAN_NUMBER | (uint32_t)(s - span_all);
}

void span_begin(uint32_t entry, uint64_t lo, uint64_t hi, uint32_t owner)
{
	struct span *s = span_at(entry);
	ctp_store64(&s->lo, lo);
	ctp_store64(&s->hi, hi);
	ctp_store64(&s->word, next(s->word, owner, SPAN_ENTERED));
}

void span_end(uint32_t entry, bool good)
{
	struct span *s = span_at(entry);
	uint64_t word = ctp_load64(&s->word);
	while (!ctp_cas64(
		&s->word, word,
		next(word, (uint32_t)word, good && kind_of(word) == SPAN_ENTERED ? SPAN_WHOLE : SPAN_BROKEN)))
		word = ctp_load64(&s->word);
}
