// SPDX-License-Identifier: MIT
// expect: CTP005 likely..proven, 1 coroutine
//
// Four workers share an epoll set. A job counter is armed again after each job;
// but where a wake-up finds no job, as another thread took it first, the
// consumer just waits on. The row has fired all the same.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs, woken[2], taken[2];

static bool take_job(void)
{
	uint64_t n;
	return !co_blocked(read(jobs, &n, sizeof(n)));
}

static void wait_until_taken(void)
{
	char byte;
	must(write(woken[1], "", 1));
	must(read(taken[0], &byte, 1));
}

static void consumer(void *arg)
{
	(void)arg;
	co_watch(ep, jobs, EPOLLIN | EPOLLONESHOT, co_self());
	for (;;) {
		co_yield(); // fault
		wait_until_taken(); // the scheduler is slow
		if (take_job())
			co_watch(ep, jobs, EPOLLIN | EPOLLONESHOT, co_self());
	}
}

static void on_parked(struct co *c)
{
	static int times;
	(void)c;
	if (__atomic_add_fetch(&times, 1, __ATOMIC_SEQ_CST) == 2)
		must(write(woken[1], "", 1));
}

int main(void)
{
	pthread_t workers[4];
	uint64_t one = 1;
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	jobs = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	must(pipe(woken));
	must(pipe(taken));
	co_parked = on_parked;
	co_start(consumer, NULL);
	for (int i = 0; i < 4; i++)
		workers[i] = co_loop_thread(&ep);
	must(write(jobs, &one, sizeof(one)));
	must(read(woken[0], &byte, 1));
	must(take_job() ? 0 : -1);
	must(write(taken[1], "", 1));
	must(read(woken[0], &byte, 1));
	say("ready");
	pthread_join(workers[0], NULL);
}
