// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Jobs come in batches, and the loop wakes as many workers as there are: each
// one reads a job, and then waits again.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define POOL 8

static int ep, jobs[2];
static struct co *pool[POOL];

static void pool_worker(void *arg)
{
	char job;
	(void)arg;
	for (;;)
		if (co_blocked(read(jobs[0], &job, 1)))
			co_yield();
		else
			co_yield(); // it is done in the next turn
}

static void on_jobs(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
	for (int i = 0; i < POOL; i++)
		co_resume(pool[i]);
}

int main(void)
{
	static struct co_handler handler = {.fn = on_jobs};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", jobs);
	handler.fd = jobs[0];
	co_handle(ep, &handler, EPOLLIN | EPOLLET);
	for (int i = 0; i < POOL; i++)
		co_resume(pool[i] = co_new(pool_worker, NULL));
	for (int i = 0; i < 20; i++) {
		must(write(jobs[1], "12345678", POOL));
		co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}
