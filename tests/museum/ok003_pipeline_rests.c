// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A pipeline of two workers and one who collects; each worker knows its own channel. The jobs are
// done, and the workers wait for more. The program has nothing more to do, and sleeps.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

#define JOBS 6

static struct channel {
	int values[2 * JOBS], n;
	struct co *receiver;
} jobs[2], results;
static struct co *runnable[4 * JOBS];
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
		co_yield ();
	}
	return c->values[--c->n];
}

static void worker(void *arg)
{
	for (int v; (v = get(arg)) >= 0;)
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
	co_start(worker, &jobs[0]);
	co_start(worker, &jobs[1]);
	for (int i = 0; i < JOBS; i++) {
		put(&jobs[i % 2], i);
		run_all();
		sum += results.values[--results.n];
	}
	must(sum == 55 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
