// SPDX-License-Identifier: MIT
//
// A stack that begins in the last two pages of a block (malloc rounds up by one), in which no other
// coroutine's begins, goes down to the block's begin, or to the highest page in it that nobody may write. A
// block that holds several stacks, or much else above one, tells nothing.
#include "engine/target/open_stacks.h"

#include <stdlib.h>

#include "base/grow.h"
#include "ctp/seq.h"
#include "ctp/there.h"
#include "engine/target/proc.h"
#include "engine/target/signals.h"
#include "search/heap/malloc_heap.h"

enum { ABOVE = 2 * 4096, OFTEN = 1024, IS_MMAPPED = 2, FLAGS = 7 };

struct all {
	struct open_stack *v; // all stacks of coroutines, by where they begin
	size_t n, room, open;
};

static bool lives(const struct ctp_state *s)
{
	return s->entity == CTP_COROUTINE && s->life != CTP_NONE && s->life < CTP_FINISHED && s->hi &&
	       !(s->flags & CTP_STATE_SHARED_STACK);
}

static bool is_open(const struct open_stack *s)
{
	return s->lo == s->hi;
}

static void collect(struct all *a, const struct ctp_region *r, uint64_t deadline_ns)
{
	struct ctp_walk w = ctp_walk_states(r);
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *s = &r->states[i];
		if (ctp_load32(&s->owner) != CTP_OWNER_GUEST || !lives(s))
			continue;
		if (GROW(a->v, a->n, a->room) || (i % OFTEN == 0 && signals_late(deadline_ns))) {
			a->open = 0; // who else is in a block is not known
			return;
		}
		a->v[a->n] =
			(struct open_stack){.id = ctp_load64(&s->id) & CTP_ID_MASK, .hi = s->hi, .lo = s->lo};
		a->open += is_open(&a->v[a->n++]);
	}
}

static int by_hi(const void *a, const void *b)
{
	const struct open_stack *x = a, *y = b;
	return (x->hi > y->hi) - (x->hi < y->hi);
}

static int by_id(const void *a, const void *b)
{
	const struct open_stack *x = a, *y = b;
	return (x->id > y->id) - (x->id < y->id);
}

static bool alone(const struct all *a, size_t i, struct span block)
{
	const struct open_stack *s = &a->v[i];
	bool below = i && a->v[i - 1].hi > block.lo;
	bool above = i + 1 < a->n && (a->v[i + 1].hi <= block.hi || a->v[i + 1].lo < s->hi);
	return !below && !above;
}

// From where on all of [lo, hi) may be written.
static uint64_t writable_from(const struct proc_maps *maps, uint64_t lo, uint64_t hi)
{
	const struct maps_line *m = proc_maps_find(maps, hi - 1);
	while (m && m->perms[1] == 'w' && m->lo > lo && m > maps->v && m[-1].hi == m->lo &&
	       m[-1].perms[1] == 'w')
		m--;
	return !m || m->perms[1] != 'w' ? hi : m->lo > lo ? m->lo : lo;
}

static bool is_mapped(pid_t pid, uint64_t block)
{
	uint64_t head;
	return proc_peek(pid, block - sizeof(head), &head, sizeof(head), false) == sizeof(head) &&
	       (head & FLAGS) == IS_MMAPPED;
}

static void look_up(struct all *a, struct open_stacks *o, pid_t pid, const struct proc_maps *maps,
		    struct malloc_heap_query *q)
{
	size_t k = 0;
	for (size_t i = 0; i < a->n; i++) {
		struct open_stack s = a->v[i];
		if (!is_open(&s))
			continue;
		const struct malloc_heap_query *found = &q[k++];
		struct span block = {found->block.lo,
				     found->block.hi + sizeof(uint64_t)}; // see malloc_heap.h
		if (!found->found || s.hi > block.hi || block.hi - s.hi >= ABOVE || !alone(a, i, block))
			continue;
		s.lo = writable_from(maps, block.lo, s.hi);
		s.mapped = is_mapped(pid, block.lo);
		if (s.lo < s.hi)
			o->v[o->n++] = s;
	}
}

static void resolve(struct all *a, struct open_stacks *o, pid_t pid, uint64_t deadline_ns)
{
	struct proc_maps maps;
	struct malloc_heap_query *q = calloc(a->open, sizeof(*q));
	o->v = calloc(a->open, sizeof(*o->v));
	if (q && o->v && !proc_maps_read(pid, &maps)) {
		struct memory m;
		size_t n = 0;
		memory_of_process(&m, pid);
		m.maps = maps.v;
		m.nmaps = maps.n;
		m.deadline_ns = deadline_ns;
		qsort(a->v, a->n, sizeof(*a->v), by_hi);
		for (size_t i = 0; i < a->n; i++)
			if (is_open(&a->v[i]))
				q[n++].addr = a->v[i].hi - 2 * sizeof(uint64_t);
		malloc_heap_resolve(&m, q, n);
		look_up(a, o, pid, &maps, q);
		memory_close(&m);
		proc_maps_deinit(&maps);
	}
	free(q);
	if (o->n)
		qsort(o->v, o->n, sizeof(*o->v), by_id);
}

void open_stacks_find(struct open_stacks *o, const struct ctp_region *r, pid_t pid, uint64_t deadline_ns)
{
	struct all a = {0};
	open_stacks_deinit(o);
	if (!ctp_load32(&r->ext->functions))
		return; // no switch function of the program's own: each context was made by a call
	collect(&a, r, deadline_ns);
	if (a.open)
		resolve(&a, o, pid, deadline_ns);
	free(a.v);
}

void open_stacks_deinit(struct open_stacks *o)
{
	free(o->v);
	*o = (struct open_stacks){0};
}

const struct open_stack *open_stacks_of(const struct open_stacks *o, const struct ctp_state *s)
{
	const struct open_stack key = {.id = s->id & CTP_ID_MASK};
	const struct open_stack *found = o->n ? bsearch(&key, o->v, o->n, sizeof(*o->v), by_id) : NULL;
	return found && s->lo == s->hi && found->hi == s->hi ? found : NULL;
}
