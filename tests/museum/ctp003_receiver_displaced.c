// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// end: timeout
//
// A pipeline of two workers and one who collects. The channel has room for one waiting receiver,
// and the second worker takes the place of the first. All results come, by one of them. At the
// end each is told to stop, and one never hears of it; a table still has it. The program has
// nothing more to do, and sleeps.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

#define JOBS 6

static struct channel {
	int values[2 * JOBS], n;
	struct co *receiver;
} jobs, results;
static struct co *all[2], *runnable[4 * JOBS];
static int ep, nrunnable, head, sum;

static void put(struct channel *c, int value)
{
	c->values[c->n++] = value;
	if (c->receiver)
		runnable[nrunnable++] = c->receiver;
	c->receiver = NULL;
}

static NOINLINE int get(struct channel *c)
{
	while (!c->n) {
		c->receiver = co_self();
		co_yield (); // fault
	}
	return c->values[--c->n];
}

static void worker(void *arg)
{
	all[(intptr_t)arg] = co_self();
	for (int v; (v = get(&jobs)) >= 0;)
		put(&results, v * v);
}

static NOINLINE void run_all(void)
{
	while (head < nrunnable)
		co_resume(runnable[head++]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_start(worker, (void *)0);
	co_start(worker, (void *)1);
	for (int i = 0; i < JOBS; i++) {
		put(&jobs, i);
		run_all();
		sum += results.values[--results.n];
	}
	put(&jobs, -1);
	put(&jobs, -1);
	run_all();
	must(sum == 55 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
