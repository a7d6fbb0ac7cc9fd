// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// end: timeout
//
// A batch converts pictures, each in a coroutine of its own, whose data a loader reads.
// A picture has a condition, in a table of all pictures. The last loader is faster than
// its picture's coroutine, which looked, lets others run to be fair, and only then
// waits: the signal found nobody. The loader has ended, and nothing else is left to do.
#include "condition.h"

#define PICTURES 5

static struct picture {
	struct condition loaded;
	bool is_loaded;
} pictures[PICTURES];

static int ep, converted;

static void wait_on(struct condition *c)
{
	struct link me = {c->waiters, co_self()};
	c->waiters = &me;
	co_yield(); // fault
}

static void convert(void *arg)
{
	struct picture *p = arg;
	while (!p->is_loaded) {
		let_others_run();
		wait_on(&p->loaded);
	}
	converted++;
}

static void load(void *arg)
{
	struct picture *p = arg;
	for (int blocks = p == &pictures[PICTURES - 1] ? 1 : 3; blocks > 0; blocks--)
		let_others_run();
	p->is_loaded = true;
	notify_all(&p->loaded);
}

static NOINLINE void begin(co_fn *fn)
{
	for (int i = 0; i < PICTURES; i++)
		co_start(fn, &pictures[i]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	begin(load);
	begin(convert);
	run_all();
	must(converted == PICTURES - 1 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
