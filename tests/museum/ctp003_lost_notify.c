// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 1 coroutine
//
// A job that is prefetched has a condition: the loader notifies it when the data
// is there. The consumer looks at the flag, lets others run to be fair, and only
// then waits: what was notified in between reached nobody. The loader has ended
// and only the consumer leads to the job. Nothing ticks.
#include <stdlib.h>

#include "condition.h"

struct job {
	struct condition loaded;
	bool is_loaded;
	char data[256];
};

static int ep, consumed;

static void wait_on(struct condition *c)
{
	struct link me = {c->waiters, co_self()};
	c->waiters = &me;
	co_yield(); // fault
}

static void consumer(void *arg)
{
	struct job *job = arg;
	while (!job->is_loaded) {
		let_others_run();
		wait_on(&job->loaded);
	}
	consumed++;
	free(job);
}

static void loader(void *arg)
{
	struct job *job = arg;
	let_others_run();
	for (size_t i = 0; i < sizeof(job->data); i++)
		job->data[i] = (char)i;
	job->is_loaded = true;
	notify_all(&job->loaded);
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
