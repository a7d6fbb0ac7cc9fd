// SPDX-License-Identifier: MIT
//
// A stack is what the context was made with, else the block of malloc that it lies in, else its
// mapping, cut where the next stack begins. One stack is one coroutine: of several contexts the one
// that lies deepest counts.
#include "find/bounds.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "search/heap/malloc_heap.h"
#include "search/stacks/thread_stack.h"
#include "unwind/unwind.h"

enum { PAGE = 4096 };

static uint64_t sp_of(const struct context *x)
{
	return x->regs[CTP_REG_SP];
}

static int find_blocks(struct contexts *c)
{
	struct malloc_heap_query *q = calloc(c->n + 1, sizeof(*q));
	uint64_t *at = calloc(c->n + 1, sizeof(*at));
	size_t n = 0;
	if (!q || !at) {
		free(q);
		free(at);
		return -ENOMEM;
	}
	for (size_t i = 0; i < c->n; i++)
		if (c->v[i].lo >= c->v[i].hi)
			q[n++].addr = sp_of(&c->v[i]) - 8;
	if (n)
		malloc_heap_resolve(&c->image->memory, q, n); // sorts them
	for (size_t i = 0; i < c->n; i++) {
		struct context *x = &c->v[i];
		size_t lo = 0, hi = n;
		if (x->lo < x->hi)
			continue;
		while (lo < hi) {
			size_t mid = (lo + hi) / 2;
			if (q[mid].addr < sp_of(x) - 8)
				lo = mid + 1;
			else
				hi = mid;
		}
		if (lo < n && q[lo].addr == sp_of(x) - 8 && q[lo].found) {
			x->lo = q[lo].block.lo;
			x->hi = q[lo].block.hi;
		}
	}
	free(q);
	free(at);
	return 0;
}

// The outermost frame of a stack: where it begins, and where the next page does, at which stacks end.
static struct span root_of(struct unwind *u, const struct context *x)
{
	enum { LEAST = 64 };
	struct unwind_frame frames[UNWIND_FRAMES];
	struct ctp_state s = {.lo = x->shape.run.lo, .hi = x->shape.run.hi};
	memcpy(s.regs, x->regs, sizeof(s.regs));
	size_t n = x->state == CONTEXT_CREATED ? 0 : unwind_frames(u, &s, frames, UNWIND_FRAMES);
	n = n < x->npcs ?
		    n :
		    x->npcs; // what lies behind is another stack, where a signal's handler began this one
	uint64_t lo = n ? frames[n - 1].sp : sp_of(x), end = n ? unwind_frame_end(u, &s, lo) : 0;
	end = end > lo + LEAST ? end : lo + LEAST;
	return (struct span){lo, (end + PAGE - 1) & ~(uint64_t)(PAGE - 1)};
}

static int by_sp(const void *a, const void *b)
{
	const struct context *x = a, *y = b;
	if (sp_of(x) != sp_of(y))
		return sp_of(x) < sp_of(y) ? -1 : 1;
	if (x->shape.copied != y->shape.copied)
		return x->shape.copied ? 1 : -1;
	return (x->id > y->id) - (x->id < y->id);
}

// Mappings hold several stacks, one behind the other.
static void cut_mappings(struct contexts *c, struct unwind *u, bool *twice)
{
	uint64_t root = 0, end = 0; // of the stack below
	const struct maps_line *last = NULL;
	for (size_t i = 0; i < c->n; i++) {
		struct context *x = &c->v[i];
		if (x->lo < x->hi) {
			twice[i] = i && c->v[i - 1].lo < c->v[i - 1].hi && sp_of(x) <= c->v[i - 1].hi &&
				   sp_of(x) > c->v[i - 1].lo && x->lo <= c->v[i - 1].lo;
			root = twice[i] ? root : 0;
			end = x->hi;
			continue;
		}
		const struct maps_line *m = image_map(c->image, sp_of(x) - 8);
		if (!m)
			continue;
		if (m != last)
			root = end = 0;
		last = m;
		twice[i] = root && sp_of(x) <= root;
		if (twice[i])
			continue;
		struct span r = root_of(u, x), run = x->shape.run;
		root = r.lo;
		x->lo = end > run.lo && end < sp_of(x) ? end : run.lo;
		x->hi = run.hi > r.lo && run.hi <= m->hi ? run.hi : m->hi;
		if (end && i && c->v[i - 1].hi > end && image_map(c->image, sp_of(&c->v[i - 1]) - 8) == m &&
		    c->v[i - 1].hi > x->lo)
			c->v[i - 1].hi = end;
		end = r.hi < m->hi ? r.hi : m->hi;
	}
}

// Of those that lie on one declared stack, or in one block, the deepest.
static void drop_twice(struct contexts *c, const bool *twice)
{
	size_t kept = 0;
	for (size_t i = 0; i < c->n; i++) {
		bool again = twice[i];
		for (size_t k = kept; !again && k-- > 0 && c->v[k].lo <= sp_of(&c->v[i]);) {
			const struct context *x = &c->v[k], *y = &c->v[i];
			bool one = x->lo < x->hi && y->lo < y->hi && x->lo == y->lo && x->hi == y->hi;
			again = one || sp_of(x) == sp_of(y);
			if (x->hi <= y->lo)
				break;
		}
		if (!again)
			c->v[kept++] = c->v[i];
	}
	c->n = kept;
}

// ---------------------------------------------------------------------- threads

static int add_running(struct contexts *c, const struct image_thread *t, const struct shape *s,
		       struct span stack)
{
	struct context x = {.id = s && s->block ? s->block : stack.lo,
			    .kind = s ? s->kind : SHAPE_ASSEMBLY,
			    .state = CONTEXT_RUNNING,
			    .lo = stack.lo,
			    .hi = stack.hi,
			    .evidence = CONTEXT_THREAD_INSIDE | (s ? CONTEXT_DECLARED : 0),
			    .tid = t->tid};
	int e = GROW(c->v, c->n, c->capacity);
	memcpy(x.regs, t->regs, sizeof(x.regs));
	if (!e)
		c->v[c->n++] = x;
	return e;
}

static bool inside(const struct context *x, uint64_t sp)
{
	return x->lo < x->hi && sp >= x->lo && sp < x->hi;
}

// The stack that this thread runs on is one of theirs: then what was saved is stale.
static int place_thread(struct contexts *c, const struct shapes *all, const struct image_thread *t)
{
	uint64_t sp = t->regs[CTP_REG_SP];
	struct span own;
	uint64_t says;
	if (!t->placed || thread_stack_find(&c->image->memory, t->tid, sp, &own, &says))
		return 0;
	for (size_t i = 0; i < c->n; i++) {
		struct context *x = &c->v[i];
		if (!inside(x, sp) || x->state == CONTEXT_RUNNING)
			continue;
		x->state = CONTEXT_RUNNING;
		x->tid = t->tid;
		x->evidence = CONTEXT_THREAD_INSIDE | (x->evidence & CONTEXT_DECLARED);
		x->npcs = 0;
		memcpy(x->regs, t->regs, sizeof(x->regs));
		return 0;
	}
	for (size_t i = 0; i < all->n; i++) {
		const struct shape *s = &all->v[i];
		if (s->stack_hi && sp >= s->stack_lo && sp < s->stack_hi)
			return add_running(c, t, s, (struct span){s->stack_lo, s->stack_hi});
	}
	return 0;
}

int bounds_find(struct contexts *c, const struct shapes *all, struct unwind *u)
{
	int e = find_blocks(c);
	bool *twice = calloc(c->n + 1, sizeof(*twice));
	if (!twice)
		e = -ENOMEM;
	if (!e && c->n)
		qsort(c->v, c->n, sizeof(*c->v), by_sp);
	if (!e) {
		cut_mappings(c, u, twice);
		drop_twice(c, twice);
	}
	free(twice);
	for (size_t i = 0; !e && i < c->image->nthreads; i++)
		e = place_thread(c, all, &c->image->threads[i]);
	return e;
}
