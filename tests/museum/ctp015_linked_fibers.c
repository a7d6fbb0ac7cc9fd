// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
// engine: fcontext
//
// Fibers on Boost.Context, each a small object of the heap, beside the next. Two of
// them take a cache's and an index's mutex in both orders. Each mutex has an owner
// and a list of waiters, which goes through the fibers themselves. The program is
// quiet.
#include <sys/epoll.h>
#include <unistd.h>

#include "fcontext.h"
#include "must.h"

#define STACK (32 << 10)

struct fiber {
	struct fiber *next; // who waits for the same mutex
	fcontext_t at;
	struct mutex *first, *second;
};

struct mutex {
	struct fiber *owner, *queue;
};

static struct fiber *active, *runnable[8];
static fcontext_t scheduler;
static int updates, nrunnable;

static void suspend(void)
{
	struct transfer t = jump_fcontext(scheduler, NULL);
	scheduler = t.from;
}

static void lock(struct mutex *m)
{
	if (m->owner) {
		active->next = m->queue;
		m->queue = active;
		while (m->owner != active)
			suspend(); // fault
		return;
	}
	m->owner = active;
}

static void unlock(struct mutex *m)
{
	struct fiber *f = m->queue;
	m->owner = f;
	if (!f)
		return;
	m->queue = f->next;
	runnable[nrunnable++] = f;
}

static void pass_on(void)
{
	runnable[nrunnable++] = active;
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
	*f = (struct fiber){NULL, make_fcontext(stack + STACK, STACK, update), first, second};
	runnable[nrunnable++] = f;
}

static void schedule(void)
{
	for (int i = 0; i < nrunnable; i++) {
		active = runnable[i];
		active->at = jump_fcontext(active->at, NULL).from;
	}
	nrunnable = 0;
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
