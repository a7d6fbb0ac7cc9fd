// SPDX-License-Identifier: MIT
//
// Not every switch has a time that was read from a clock (ctp/late.h), and the kernel's clock differs from
// the program's. So near a switch the stack pointer, not the time, says which coroutine ran. Stacks are
// looked up in an index of the table of states; it is made anew when a stack is missing, but seldom if that
// takes long.
#include "engine/record/ran.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/grow.h"
#include "ctp/late.h"
#include "ctp/there.h"

enum { INDEX_COSTS = 20 }; // of the time that passes, what making an index may take: one part of so many

struct turn { // of an entity
	uint64_t time, who;
};

struct thread {
	uint32_t tid, slot;
	uint64_t native;
	struct turn *turns; // in order
	size_t n, capacity;
};

struct stack {
	uint64_t lo, hi, who;
};

struct ran {
	const struct ctp_region *const *region;
	struct thread *threads;
	size_t n, capacity;
	struct stack *stacks; // by entity
	size_t n_stacks, stacks_capacity;
	uint64_t again_ns; // when an index may be made next
};

struct ran *ran_new(const struct ctp_region *const *region)
{
	struct ran *r = calloc(1, sizeof(*r));
	if (r)
		r->region = region;
	return r;
}

void ran_free(struct ran *r)
{
	if (!r)
		return;
	for (size_t i = 0; i < r->n; i++)
		free(r->threads[i].turns);
	free(r->threads);
	free(r->stacks);
	free(r);
}

static struct thread *find(struct ran *r, uint32_t tid)
{
	for (size_t i = 0; i < r->n; i++)
		if (r->threads[i].tid == tid)
			return &r->threads[i];
	return NULL;
}

static void add(struct thread *t, uint64_t time, uint64_t who)
{
	if (t->n && t->turns[t->n - 1].who == who)
		return;
	if (!GROW(t->turns, t->n, t->capacity))
		t->turns[t->n++] = (struct turn){time, who};
}

void ran_see(struct ran *r, const struct writer_batch *b)
{
	struct ctp_cursor c = b->start;
	struct thread *t = find(r, b->tid);
	if (!t) {
		if (!b->records || GROW(r->threads, r->n, r->capacity))
			return;
		t = &r->threads[r->n++];
		*t = (struct thread){.tid = b->tid, .slot = b->slot};
	}
	add(t, c.time, c.current);
	for (uint32_t i = 0; i < b->n;) {
		uint64_t before = c.current;
		unsigned slots = ctp_record_slots(b->slots + i, b->n - i);
		if (!slots)
			break;
		ctp_cursor_pass(&c, b->slots + i);
		if (c.current != before)
			add(t, c.time, c.current);
		i += slots;
	}
	t->native = c.native;
}

// ------------------------------------------------------------------- stacks

static int by_who(const void *a, const void *b)
{
	const struct stack *x = a, *y = b;
	return (x->who > y->who) - (x->who < y->who);
}

static void make_index(struct ran *r)
{
	uint64_t begun = clock_mono_ns();
	if (begun < r->again_ns)
		return;
	struct ctp_walk w = ctp_walk_states(*r->region);
	r->n_stacks = 0;
	for (uint64_t i = ctp_walk_from(&w, 0); i < w.n; i = ctp_walk_from(&w, i + 1)) {
		const struct ctp_state *s = &(*r->region)->states[i];
		struct stack is = {s->lo, s->hi, ctp_load64(&s->id) & CTP_ID_MASK};
		if (!is.who || is.lo >= is.hi || s->entity != CTP_COROUTINE)
			continue;
		if (GROW(r->stacks, r->n_stacks, r->stacks_capacity))
			break;
		r->stacks[r->n_stacks++] = is;
	}
	if (r->n_stacks)
		qsort(r->stacks, r->n_stacks, sizeof(*r->stacks), by_who);
	uint64_t now = clock_mono_ns();
	r->again_ns = now + INDEX_COSTS * (now - begun);
}

static const struct stack *stack_of(const struct ran *r, uint64_t who)
{
	const struct stack key = {.who = who};
	return r->n_stacks ? bsearch(&key, r->stacks, r->n_stacks, sizeof(*r->stacks), by_who) : NULL;
}

// Is it on the stack of this entity? -1: the stack is not known.
static int is_on(struct ran *r, const struct thread *t, uint64_t who, uint64_t sp)
{
	if (!who || who == t->native)
		return -1;
	const struct stack *s = stack_of(r, who);
	if (!s) {
		make_index(r);
		s = stack_of(r, who);
	}
	return s ? sp > s->lo && sp <= s->hi : -1;
}

uint64_t ran_at(struct ran *r, uint32_t tid, uint64_t time, uint64_t slack, uint64_t sp)
{
	struct thread *t = find(r, tid);
	if (!t || !t->n)
		return 0;
	size_t lo = 0, hi = t->n; // the last turn that began by then
	while (hi - lo > 1) {
		size_t half = lo + (hi - lo) / 2;
		if (t->turns[half].time <= time)
			lo = half;
		else
			hi = half;
	}
	size_t at = lo, first = at, last = at, unknown = SIZE_MAX;
	while (first && (t->turns[first].time + slack > time || !CTP_TIME_IS_READ(t->turns[first].time)))
		first--;
	while (last + 1 < t->n && t->turns[last + 1].time <= time + slack)
		last++;
	if (first == last)
		return t->turns[at].who;
	for (size_t away = 0; at >= first + away || at + away <= last; away++) { // the nearest first
		for (int side = 0; side < (away ? 2 : 1); side++) {
			size_t i = side ? at + away : at - away;
			if ((side ? i > last : away > at || i < first))
				continue;
			int on = is_on(r, t, t->turns[i].who, sp);
			if (on > 0)
				return t->turns[i].who;
			if (on < 0 && unknown == SIZE_MAX)
				unknown = i;
		}
	}
	return t->turns[unknown == SIZE_MAX ? at : unknown].who;
}

static bool is_gone(const struct ran *r, const struct thread *t)
{
	const struct ctp_thread *is = &(*r->region)->threads[t->slot];
	return is->tid != t->tid || ctp_load32(&is->life) != CTP_THREAD_LIVE;
}

void ran_forget(struct ran *r, uint64_t before)
{
	for (size_t k = r->n; k-- > 0;) {
		struct thread *t = &r->threads[k];
		size_t keep = 0;
		if (is_gone(r, t)) {
			free(t->turns);
			*t = r->threads[--r->n];
			continue;
		}
		for (size_t i = 0; i < t->n && t->turns[i].time < before; i++)
			keep = CTP_TIME_IS_READ(t->turns[i].time) ? i : keep;
		if (keep)
			memmove(t->turns, t->turns + keep, (t->n - keep) * sizeof(*t->turns));
		t->n -= keep;
	}
}
