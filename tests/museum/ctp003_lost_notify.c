// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 1 coroutine
//
// A job that is prefetched has a condition: the loader notifies it when the data
// is there. The consumer looks at the flag, lets others run to be fair, and only
// then waits: what was notified in between reached nobody. The loader has ended
// and only the consumer leads to the job. Nothing ticks.
#include <stdlib.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct condition {
	struct link {
		struct link *next;
		struct co *co;
	} *waiters;
};

struct job {
	struct condition loaded;
	bool is_loaded;
	char data[256];
};

static struct co *runnable[16];
static int ep, nrunnable, consumed;

static void be_fair(void)
{
	runnable[nrunnable++] = co_self();
	co_yield();
}

static void wait_on(struct condition *c)
{
	struct link me = {c->waiters, co_self()};
	c->waiters = &me;
	co_yield(); // fault
}

static void notify_all(struct condition *c)
{
	for (struct link *l = c->waiters; l; l = l->next)
		runnable[nrunnable++] = l->co;
	c->waiters = NULL;
}

static void consumer(void *arg)
{
	struct job *job = arg;
	while (!job->is_loaded) {
		be_fair();
		wait_on(&job->loaded);
	}
	consumed++;
	free(job);
}

static void loader(void *arg)
{
	struct job *job = arg;
	be_fair();
	for (size_t i = 0; i < sizeof(job->data); i++)
		job->data[i] = (char)i;
	job->is_loaded = true;
	notify_all(&job->loaded);
}

static NOINLINE void run_all(void)
{
	for (int i = 0; i < nrunnable; i++) {
		struct co *c = runnable[i];
		runnable[i] = NULL;
		co_resume(c);
	}
	nrunnable = 0;
}

// The first loader is slower than its consumer, as they all were so far.
static NOINLINE void prefetch(bool loader_first)
{
	struct job *job = must_alloc(sizeof(*job));
	co_start(loader_first ? loader : consumer, job);
	co_start(loader_first ? consumer : loader, job);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	prefetch(false);
	run_all();
	must(consumed == 1 ? 0 : -1);
	prefetch(true);
	run_all();
	must(consumed == 1 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
