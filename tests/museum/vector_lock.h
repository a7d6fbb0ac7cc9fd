// SPDX-License-Identifier: MIT
//
// vector_lock.h - a lock between coroutines of one thread, as C++ programs write it: the owner, and a
// std::vector of those who wait. That is laid out as its library has it: { first, end, end of the block }.
#pragma once

#include "ordered.h"

struct co_vector {
	struct co **first, **end, **room;
};

struct vector_lock {
	struct co *owner;
	struct co_vector queue;
};

static struct co *ready[16];
static int nready;

ORDERED void let_others_run(void)
{
	ready[nready++] = co_self();
	co_yield();
}

ORDERED void run_ready(void)
{
	while (nready > 0) {
		struct co *c = ready[0];
		nready--;
		for (int i = 0; i < nready; i++)
			ready[i] = ready[i + 1];
		ready[nready] = NULL;
		co_resume(c);
	}
}

ORDERED void push_back(struct co_vector *v, struct co *c)
{
	if (v->end == v->room) {
		size_t n = (size_t)(v->end - v->first), room = n ? 2 * n : 1;
		struct co **more = must_alloc(room * sizeof(*more));
		for (size_t i = 0; i < n; i++)
			more[i] = v->first[i];
		free(v->first);
		*v = (struct co_vector){more, more + n, more + room};
	}
	*v->end++ = c;
}

// Of what is taken out of a vector, its memory keeps a copy.
ORDERED struct co *pop_front(struct co_vector *v)
{
	struct co *c = v->first[0];
	memmove(v->first, v->first + 1, (size_t)(v->end - v->first - 1) * sizeof(*v->first));
	v->end--;
	return c;
}

static inline void vector_lock(struct vector_lock *l)
{
	while (l->owner) {
		push_back(&l->queue, co_self());
		co_yield(); // fault
	}
	l->owner = co_self();
}

static inline void vector_unlock(struct vector_lock *l)
{
	l->owner = NULL;
	if (l->queue.end > l->queue.first)
		ready[nready++] = pop_front(&l->queue);
}
