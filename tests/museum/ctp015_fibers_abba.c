// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
// engine: fcontext
//
// Fibers on Boost.Context, with all fibers in the scheduler's ring, as a library
// keeps them: so something outside leads to both. Two fibers take a cache's and
// an index's mutex in both orders. Each mutex has an owner and a queue of nodes
// on the waiters' stacks. The program is quiet.
#include <sys/epoll.h>
#include <unistd.h>

#include "fcontext.h"
#include "must.h"

#define STACK (32 << 10)

struct fiber {
	struct fiber *next, *previous; // the ring of all
	fcontext_t at;
	int ready;
	struct mutex *first, *second;
};

struct node {
	struct node *next;
	struct fiber *fiber;
};

struct mutex {
	struct fiber *owner;
	struct node *queue;
	long padding[4]; // as wide as a real one
};

static struct fiber ring = {&ring, &ring}, *active;
static fcontext_t scheduler;
static int updates;

static void suspend(void)
{
	struct transfer t = jump_fcontext(scheduler, NULL);
	scheduler = t.from;
}

static void lock(struct mutex *m)
{
	struct node me = {m->queue, active};
	if (m->owner) {
		m->queue = &me;
		while (m->owner != me.fiber)
			suspend(); // fault
		return;
	}
	m->owner = active;
}

static void unlock(struct mutex *m)
{
	struct node *n = m->queue;
	m->owner = n ? n->fiber : NULL;
	if (!n)
		return;
	m->queue = n->next;
	n->fiber->ready = 1;
}

static void pass_on(void)
{
	active->ready = 1;
	suspend();
}

static void update(struct transfer t)
{
	struct fiber *me = active;
	scheduler = t.from;
	for (;;) {
		lock(me->first);
		pass_on();
		lock(me->second);
		updates++;
		unlock(me->second);
		unlock(me->first);
		suspend();
	}
}

static void launch(struct mutex *first, struct mutex *second)
{
	struct fiber *f = must_alloc(sizeof(*f));
	char *stack = must_map(STACK);
	*f = (struct fiber){&ring, ring.previous, make_fcontext(stack + STACK, STACK, update), 1, first, second};
	ring.previous->next = f;
	ring.previous = f;
}

static void schedule(void)
{
	int ran;
	do {
		ran = 0;
		for (active = ring.next; active != &ring; active = active->next)
			if (active->ready) {
				active->ready = 0;
				active->at = jump_fcontext(active->at, NULL).from;
				ran = 1;
			}
	} while (ran);
}

int main(void)
{
	struct epoll_event ev;
	int ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	struct mutex *cache = must_alloc(sizeof(*cache)), *index = must_alloc(sizeof(*index));
	launch(must_alloc(sizeof(*cache)), must_alloc(sizeof(*cache)));
	schedule();
	launch(cache, index);
	launch(index, cache);
	schedule();
	must(updates == 1 ? 0 : -1);
	say("ready");
	for (;;) {
		epoll_wait(ep, &ev, 1, -1);
		schedule();
	}
}
