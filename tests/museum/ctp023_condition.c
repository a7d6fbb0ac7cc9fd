// SPDX-License-Identifier: MIT
// expect: CTP023 suspect, 1 coroutine
//
// A pool of twelve workers waits for jobs in a pipe. Who writes a job makes the
// pipe readable, and the loop treats that as a condition: all look, one finds it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define POOL 12

static int ep, jobs[2];
static struct co *waiting[POOL];
static int waiters;

static void pool_worker(void *arg)
{
	char job;
	(void)arg;
	for (;;) {
		if (!co_blocked(read(jobs[0], &job, 1)))
			continue;
		waiting[waiters++] = co_self();
		co_yield(); // fault
	}
}

static void broadcast(struct co_handler *h, uint32_t events)
{
	struct co *all[POOL];
	int n = waiters;
	(void)h;
	(void)events;
	for (int i = 0; i < n; i++)
		all[i] = waiting[i];
	waiters = 0;
	for (int i = 0; i < n; i++)
		co_resume(all[i]);
}

int main(void)
{
	static struct co_handler handler = {.fn = broadcast};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", jobs);
	handler.fd = jobs[0];
	co_handle(ep, &handler, EPOLLIN | EPOLLET);
	for (int i = 0; i < POOL; i++)
		co_start(pool_worker, NULL);
	for (int i = 0; i < 6; i++) {
		must(write(jobs[1], "j", 1));
		co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}
