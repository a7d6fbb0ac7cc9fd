// SPDX-License-Identifier: MIT
//
// Below its pointer a stack is dead, if it is certain that it is a stack: as far as no live word of it points
// further down, and as far as its pages have been touched and used in one piece.
#include "search/stacks/dead_stack.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096, LIVE_MOST = 1 << 20 };

bool dead_stack_init(struct dead_stack *d, const struct memory *m)
{
	*d = (struct dead_stack){.memory = m, .words = malloc(LIVE_MOST)};
	return d->words;
}

void dead_stack_deinit(struct dead_stack *d)
{
	free(d->words);
	d->words = NULL;
}

// The lowest address below `sp` that a live word of the stack [lo, hi) points to:
// where a signal's handler stands on a part of the stack it interrupted, or the
// like, frames live on below the stack pointer. 0 if that cannot be told.
static uint64_t points_down(const struct dead_stack *d, struct span stack, uint64_t sp, struct span left)
{
	uint64_t n = stack.hi - sp, lowest = sp;
	if (n > LIVE_MOST || memory_peek(d->memory, sp, d->words, n, false) != n)
		return 0;
	for (uint64_t i = 0; i + 8 <= n; i += 8) {
		uint64_t w = d->words[i / 8];
		if (w >= stack.lo && w < lowest && !(sp + i >= left.lo && sp + i < left.hi))
			lowest = w;
	}
	return lowest;
}

// The pages just below `to` that have been touched, one after the other, as a
// stack touches them: what lies beneath an untouched one is no stack's. 0: not known.
static uint64_t touched_from(const struct memory *m, uint64_t lo, uint64_t to)
{
	enum { BATCH = 512 };
	uint64_t entries[BATCH], page = (to - 1) / PAGE, first = lo / PAGE;
	if (to <= lo)
		return 0;
	for (;;) {
		uint64_t n = page - first + 1 < BATCH ? page - first + 1 : BATCH;
		if (memory_page_entries(m, page - n + 1, entries, n) != n)
			return 0;
		for (uint64_t i = n; i-- > 0; page--)
			if (!(entries[i] & (MEMORY_PRESENT | MEMORY_SWAPPED)))
				return (page + 1) * PAGE;
		if (page + 1 <= first)
			return lo;
	}
}

// The same, as far as a stack was in those pages: one that is full of one word was wiped or painted, or has
// never been used. What lies beneath it may be anybody's: a block can have its stack at one end, and more at
// the other.
static uint64_t used_from(const struct dead_stack *d, uint64_t lo, uint64_t to)
{
	enum { BATCH = 16, WORDS = PAGE / 8 };
	uint64_t from = touched_from(d->memory, lo, to), at = to & ~(uint64_t)(PAGE - 1);
	while (from && at > from) {
		uint64_t first = at - from > BATCH * PAGE ? at - BATCH * PAGE : from & ~(uint64_t)(PAGE - 1);
		if (memory_peek(d->memory, first, d->words, at - first, false) != at - first)
			return at;
		for (; at > first; at -= PAGE) {
			const uint64_t *page = d->words + (at - PAGE - first) / 8;
			if (!memcmp(page, page + 1, (WORDS - 1) * 8))
				return at;
		}
	}
	return from;
}

void dead_stack_add(const struct dead_stack *d, const struct dead_stack_of *s, struct span_list *out)
{
	struct span stack = s->stack;
	uint64_t sp = s->sp;
	if (sp <= stack.lo + PAGE + RED_ZONE || sp > stack.hi)
		return;
	uint64_t to = points_down(d, stack, sp & ~7ULL, s->left);
	if (to <= stack.lo + PAGE + RED_ZONE)
		return;
	to -= to < (sp & ~7ULL) ? RED_ZONE : s->red; // somebody stands lower
	uint64_t from = s->floor ? s->floor : used_from(d, stack.lo, to);
	if (s->floor)
		span_add(out, s->floor, to);
	else if (from)
		span_add(out, from > stack.lo + PAGE ? from : stack.lo + PAGE, to);
}
