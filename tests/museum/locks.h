// SPDX-License-Identifier: MIT
//
// locks.h - locks between coroutines of one thread, as fiber libraries have them:
// whoever finds one taken puts itself into its queue and yields. An unlock hands
// the lock to the first in the queue, who runs when the loop comes to the run
// queue; nothing here has a descriptor.
#pragma once

#include "ordered.h"

struct waiting { // on the stack of whoever waits
	struct waiting *next;
	struct co *co;
	bool shared, granted;
};

struct queue {
	struct waiting *first, **last;
};

static struct waiting *runnable, **runnable_end = &runnable;

ORDERED void make_runnable(struct waiting *w)
{
	w->next = NULL;
	*runnable_end = w;
	runnable_end = &w->next;
}

ORDERED void run_queue(void)
{
	while (runnable) {
		struct waiting *w = runnable;
		runnable = w->next;
		if (!runnable)
			runnable_end = &runnable;
		co_resume(w->co);
	}
}

ORDERED void queue_wait(struct queue *q, struct waiting *w)
{
	w->co = co_self();
	w->granted = false;
	w->next = NULL;
	if (!q->first)
		q->last = &q->first;
	*q->last = w;
	q->last = &w->next;
	while (!w->granted)
		co_yield();
}

ORDERED struct waiting *queue_grant(struct queue *q)
{
	struct waiting *w = q->first;
	if (!w)
		return NULL;
	q->first = w->next;
	w->granted = true;
	make_runnable(w);
	return w;
}

struct fiber_mutex {
	struct co *owner;
	unsigned depth;
	struct queue queue;
};

ORDERED void fiber_lock(struct fiber_mutex *m)
{
	struct waiting w = {0};
	if (m->owner && m->owner != co_self())
		queue_wait(&m->queue, &w); // it is ours afterwards
	m->owner = co_self();
	m->depth++;
}

ORDERED void fiber_unlock(struct fiber_mutex *m)
{
	if (--m->depth)
		return;
	struct waiting *w = queue_grant(&m->queue);
	m->owner = w ? w->co : NULL;
}

// A turn of the loop, and whom it has made runnable.
ORDERED void turn_and_run(int ep)
{
	co_turn(ep, -1);
	run_queue();
}
