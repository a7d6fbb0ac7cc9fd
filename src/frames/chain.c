// SPDX-License-Identifier: MIT
//
// A coroutine that is awaited keeps in its promise who is to go on when it ends: a handle, which is the
// address of the other's frame, or the address of the other's promise. The one that awaits keeps the same of
// it, among its variables. Where the end of the promise is known (GCC puts the frame's own address behind it)
// the first word is enough; else both must be there, and the promise's is the one nearer to the start. Some
// libraries also keep the innermost coroutine in the outermost's promise, so that they can resume it: what
// looks like a circle is open there, where only one of the two has the other.
#include "frames/chain.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PROMISE = 16, PROMISE_MOST = 2048, FRAME_MOST = 1 << 16 };

struct chaining {
	struct stackless_list *l;
	struct window *w;
	struct window other; // for frames that the first one is compared with
	uint64_t words[PROMISE_MOST / 8];
	bool *sure; // by row: the one that awaits it keeps it as well
};

static uint64_t frame_bytes(const struct stackless *s)
{
	uint64_t most = s->block.hi > s->at ? s->block.hi - s->at : PROMISE_MOST;
	return most < FRAME_MOST ? most : FRAME_MOST;
}

// The frame that a handle, or a pointer to a promise, means.
static uint32_t meant(const struct stackless_list *l, uint64_t word)
{
	if (word % 8 || !l->n || word < l->v[0].at || word > l->v[l->n - 1].at + PROMISE)
		return STACKLESS_NONE;
	uint32_t row = stackless_row(l, word);
	return row != STACKLESS_NONE ? row : stackless_row(l, word - PROMISE);
}

// Where `in` holds the address of `of`, behind its two functions; 0: nowhere.
static uint64_t holds(struct window *w, const struct stackless *in, const struct stackless *of)
{
	uint64_t word, end = frame_bytes(in);
	for (uint64_t at = PROMISE; at + 8 <= end; at += 8)
		if (window_word(w, in->at + at, &word) && (word == of->at || word == of->at + PROMISE))
			return at;
	return 0;
}

// Where the promise ends at the latest; *exact: it does end there.
static size_t promise_end(struct chaining *c, const struct stackless *s, size_t n, bool *exact)
{
	const struct dispatch *d = stackless_dispatch(c->l, s->pair);
	size_t limit = d && d->known && d->index.offset / 8 < n ? d->index.offset / 8 : n, end = limit;
	*exact = false;
	// A promise may hold the frame's address as well: the last one is the compiler's.
	for (size_t i = PROMISE / 8; s->pair->maker == PAIR_GCC && i <= limit && i < n; i++)
		if (c->words[i] == s->at) {
			*exact = true;
			end = i;
		}
	return end;
}

static bool may_await(const struct stackless *s)
{
	return s->state == STACKLESS_SUSPENDED && s->awaits == STACKLESS_NONE;
}

// Is `b` what goes on after `a`, whose word at `at` leads to it? *sure: it keeps `a` as well.
static bool confirmed(struct chaining *c, const struct stackless *a, const struct stackless *b, uint64_t at,
		      bool exact, bool *sure)
{
	uint64_t back = holds(&c->other, b, a);
	bool inside = a->nested && a->block.lo == b->block.lo; // its caller computes where it is
	*sure = back ? back > at : inside; // a list of promises leads both ways from the same place
	return *sure || (!back && exact);
}

static void follow(struct chaining *c, uint32_t row)
{
	struct stackless_list *l = c->l;
	struct stackless *s = &l->v[row];
	size_t n = frame_bytes(s) / 8;
	bool exact;
	n = n < PROMISE_MOST / 8 ? n : PROMISE_MOST / 8;
	if (s->state == STACKLESS_FINAL || s->state == STACKLESS_INITIAL ||
	    !window_read(c->w, s->at, c->words, n * 8))
		return;
	size_t end = promise_end(c, s, n, &exact);
	s->promise_end = exact ? (uint32_t)end * 8 : 0;
	for (size_t i = PROMISE / 8; i < end && s->awaited_by == STACKLESS_NONE; i++) {
		uint32_t to = meant(l, c->words[i]);
		if (to == STACKLESS_NONE || to == row || !may_await(&l->v[to]) ||
		    !confirmed(c, s, &l->v[to], 8 * i, exact, &c->sure[row]))
			continue;
		s->awaited_by = to;
		l->v[to].awaits = row;
	}
}

static void cut(struct stackless_list *l, uint32_t row)
{
	l->v[l->v[row].awaited_by].awaits = STACKLESS_NONE;
	l->v[row].awaited_by = STACKLESS_NONE;
}

// Where only the promise has the other one; if both have, at any place.
static void open_circle(struct chaining *c, uint32_t first)
{
	struct stackless_list *l = c->l;
	bool any = false;
	uint32_t at = first;
	do {
		uint32_t next = l->v[at].awaited_by;
		if (!c->sure[at]) {
			any = true;
			cut(l, at);
		}
		at = next;
	} while (at != first);
	if (!any)
		cut(l, first);
}

// A circle is no chain: at most so many steps lead out of one.
static void break_circles(struct chaining *c)
{
	struct stackless_list *l = c->l;
	uint32_t *seen = calloc(l->n + 1, sizeof(*seen));
	for (uint32_t i = 0; seen && i < l->n; i++) {
		uint32_t at = i;
		while (at != STACKLESS_NONE && !seen[at]) {
			seen[at] = i + 1;
			at = l->v[at].awaited_by;
		}
		if (at == STACKLESS_NONE || seen[at] != i + 1)
			continue;
		open_circle(c, at);
	}
	free(seen);
}

int chain_frames(struct stackless_list *l, struct window *w)
{
	struct chaining *c = calloc(1, sizeof(*c));
	bool *sure = calloc(l->n + 1, sizeof(*sure));
	if (!c || !sure || !window_init(&c->other, w->memory)) {
		free(c);
		free(sure);
		return -ENOMEM;
	}
	c->l = l;
	c->sure = sure;
	c->w = w;
	for (uint32_t i = 0; i < l->n; i++)
		follow(c, i);
	break_circles(c);
	window_deinit(&c->other);
	free(sure);
	free(c);
	return 0;
}
