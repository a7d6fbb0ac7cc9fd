// SPDX-License-Identifier: MIT
//
// A frame is two words: a resume function and the destroy function of the same coroutine. malloc leaves most
// of a block as it was when it was freed, so remnants outnumber frames in a busy program: what lies in free
// memory is none, nor what lies inside a block that begins with something else, but for the frame of a callee
// that the compiler has put into the frame of its caller.
#include "frames/find.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/search.h"
#include "search/heap/malloc_free.h"
#include "search/heap/malloc_heap.h"
#include "search/memory/memory_walk.h"
#include "search/mark/scan.h"

enum { FRAMES_MOST = 1 << 24, TRIES = 3, SIEVE_BITS = 1 << 16 };

struct finding {
	struct stackless_list *l;
	const struct stackless_where *w;
	uint64_t lo, hi; // all destroy functions lie in here
	uint8_t *sieve;
	int error;
};

static size_t sieve_bit(uint64_t v)
{
	return (size_t)((v >> 4 ^ v >> 20) & (SIEVE_BITS - 1));
}

static bool make_sieve(struct finding *f)
{
	const struct pairs *p = f->w->pairs;
	f->sieve = calloc(SIEVE_BITS / 8, 1);
	if (!f->sieve)
		return false;
	f->lo = p->v[0].destroy;
	f->hi = p->v[p->n - 1].destroy + 1;
	for (size_t i = 0; i < p->n; i++)
		f->sieve[sieve_bit(p->v[i].destroy) / 8] |= (uint8_t)(1u << sieve_bit(p->v[i].destroy) % 8);
	return true;
}

// Clang keeps a table of each coroutine's functions, which begins like a frame of it.
static bool is_table(const struct finding *f, uint64_t at, const struct pair *p)
{
	uint64_t third;
	size_t same;
	const struct maps_line *line = memory_map(f->w->memory, at);
	if (line && line->perms[1] != 'w')
		return true; // made read-only by the loader: no frame
	if (p->maker != PAIR_CLANG || p->elided || !line || !line->ino ||
	    memory_peek(f->w->memory, at + 16, &third, 8, false) != 8)
		return false;
	return pairs_find(f->w->pairs, p->resume, third, &same) != NULL;
}

static void add(struct finding *f, uint64_t at, uint64_t resume, uint64_t destroy)
{
	size_t same;
	const struct pair *p = pairs_find(f->w->pairs, resume, destroy, &same);
	if (!p || f->error || is_table(f, at, p))
		return;
	f->error = f->l->n < FRAMES_MOST ? GROW(f->l->v, f->l->n, f->l->room) : -ENOMEM;
	if (!f->error)
		f->l->v[f->l->n++] =
			(struct stackless){.at = at,
					   .pair = p,
					   .same = (uint32_t)same,
					   .state = resume ? STACKLESS_SUSPENDED : STACKLESS_FINAL,
					   .awaits = STACKLESS_NONE,
					   .awaited_by = STACKLESS_NONE};
}

static void on_piece(void *ctx, const unsigned char *b, size_t n, uint64_t at)
{
	struct finding *f = ctx;
	uint64_t word, before;
	for (size_t i = -at & 7; i + 8 <= n; i += 8) {
		memcpy(&word, b + i, 8);
		if (word < f->lo || word >= f->hi ||
		    !(f->sieve[sieve_bit(word) / 8] >> sieve_bit(word) % 8 & 1))
			continue;
		if (i >= 8)
			memcpy(&before, b + i - 8, 8);
		else if (memory_peek(f->w->memory, at + i - 8, &before, 8, false) != 8)
			continue;
		add(f, at + i - 8, before, word);
	}
}

static int by_at(const void *a, const void *b)
{
	const struct stackless *x = a, *y = b;
	return x->at < y->at ? -1 : x->at > y->at;
}

static void keep(struct stackless_list *l, bool (*wanted)(void *ctx, const struct stackless *s), void *ctx)
{
	size_t kept = 0;
	for (size_t i = 0; i < l->n; i++)
		if ((!i || l->v[i].at != l->v[i - 1].at) && wanted(ctx, &l->v[i]))
			l->v[kept++] = l->v[i];
	l->n = kept;
}

// ---------------------------------------------------------------- the allocator

static bool not_freed(void *ctx, const struct stackless *s)
{
	const struct span_list *freed = ctx;
	return scan_find(freed->v, freed->n, s->at) == freed->n;
}

// The stack that the mapping is one of a thread's; NULL: none that is known.
static const struct stackless_stack *stack_in(const struct stackless_where *w, const struct maps_line *m)
{
	for (size_t i = 0; i < w->nstacks; i++)
		if (w->stacks[i].sp >= m->lo && w->stacks[i].sp < m->hi)
			return &w->stacks[i];
	return NULL;
}

// On a stack lie copies and remnants of all kinds: only a frame that Clang has put into a function's own
// counts.
static bool no_remnant_on_stack(void *ctx, const struct stackless *s)
{
	const struct stackless_where *w = ctx;
	const struct maps_line *m = s->block.hi ? NULL : memory_map(w->memory, s->at);
	const struct stackless_stack *stack = m ? stack_in(w, m) : NULL;
	if (!m || (!stack && strcmp(m->path, "[stack]")))
		return true;
	return s->pair->elided && (!stack || s->at >= stack->sp);
}

static bool in_heap(const struct memory *m, uint64_t at)
{
	const struct maps_line *line = memory_map(m, at);
	return line && !strncmp(line->path, "[heap]", 6);
}

// Fills in the blocks. How many frames lie in the heap, in no block.
static size_t resolve(struct finding *f)
{
	struct stackless_list *l = f->l;
	struct malloc_heap_query *q = calloc(l->n + 1, sizeof(*q));
	size_t lost = 0;
	if (!q) {
		f->error = -ENOMEM;
		return 0;
	}
	for (size_t i = 0; i < l->n; i++)
		q[i].addr = l->v[i].at;
	malloc_heap_resolve(f->w->memory, q, l->n); // they are sorted already, and stay so
	for (size_t i = 0; i < l->n; i++) {
		struct stackless *s = &l->v[i];
		s->block = q[i].found ? q[i].block : (struct span){0, 0};
		s->unsure = !q[i].found && in_heap(f->w->memory, s->at);
		lost += s->unsure;
	}
	free(q);
	return lost;
}

// Of functions without a name: does it lie in memory that no block is known of? That may be anything.
static bool is_stray(const struct stackless *s)
{
	return s->pair->by_code && !s->block.hi && !s->unsure;
}

// A block that begins with a frame, or no block of malloc's; and those that may be elided, for now.
static bool begins_block(void *ctx, const struct stackless *s)
{
	(void)ctx;
	bool may_be_elided = s->pair->elided || (s->pair->by_code && s->pair->maker == PAIR_CLANG);
	return (!s->block.hi && !is_stray(s)) || s->block.lo == s->at || (s->block.hi && may_be_elided);
}

static bool is_root(const struct stackless_list *l, uint64_t at)
{
	size_t i = FIRST_NOT(l->n, k, l->v[k].at < at);
	return i < l->n && l->v[i].at == at && !l->v[i].nested;
}

static bool in_root(void *ctx, const struct stackless *s)
{
	(void)ctx;
	return !s->nested || s->unsure;
}

// An elided frame inside a block counts if the block begins with a frame.
static void keep_nested(struct stackless_list *l)
{
	for (size_t i = 0; i < l->n; i++)
		l->v[i].nested = l->v[i].block.hi && l->v[i].block.lo != l->v[i].at;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].nested)
			l->v[i].unsure = is_root(l, l->v[i].block.lo);
	size_t had = l->n;
	keep(l, in_root, NULL);
	l->inside += had - l->n;
	for (size_t i = 0; i < l->n; i++)
		if (l->v[i].nested)
			l->v[i].unsure = false;
}

static void drop_remnants(struct finding *f)
{
	struct stackless_list *l = f->l;
	struct span_list freed = {0};
	for (unsigned i = 0; i < TRIES && !f->error; i++) // the program may run meanwhile
		if (!resolve(f) || memory_late(f->w->memory))
			break;
	if (f->error)
		return;
	malloc_free_find(f->w->memory, &freed);
	size_t had = l->n;
	keep(l, not_freed, &freed);
	l->remnants = had - l->n;
	free(freed.v);
	keep(l, no_remnant_on_stack, (void *)f->w);
	had = l->n;
	keep(l, begins_block, NULL);
	l->inside = had - l->n;
	keep_nested(l);
}

int find_frames(struct stackless_list *l, const struct stackless_where *w)
{
	struct finding f = {.l = l, .w = w};
	struct memory_walk walk = {
		.memory = w->memory, .skip = w->skip, .nskip = w->nskip, .piece = on_piece, .ctx = &f};
	if (!w->pairs->n)
		return 0;
	if (!make_sieve(&f))
		return -ENOMEM;
	int e = memory_walk(&walk);
	free(f.sieve);
	if (e || f.error)
		return e ? e : f.error;
	if (l->n)
		qsort(l->v, l->n, sizeof(*l->v), by_at);
	drop_remnants(&f);
	return f.error;
}
