// SPDX-License-Identifier: MIT
// expect: CTP027 likely, 1 coroutine
//
// Two workers. A task sleeps by a timer of its own; the canceller disarms the
// timer, as the task need not wait any longer, and does not resume it.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer = -1, cancel[2], cancelled[2];

static void task(void *arg)
{
	struct itimerspec hour = {.it_value.tv_sec = 3600};
	uint64_t n;
	(void)arg;
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(timer, 0, &hour, NULL));
	must(co_read(ep, timer, &n, sizeof(n))); // fault
}

static void canceller(void *arg)
{
	struct itimerspec never = {0};
	char byte;
	(void)arg;
	must(co_read(ep, cancel[0], &byte, 1));
	must(timerfd_settime(timer, 0, &never, NULL)); // fault
	must(write(cancelled[1], "", 1));
	co_read(ep, cancel[0], &byte, 1);
}

int main(void)
{
	pthread_t workers[2];
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(cancelled));
	pair("tcp", cancel);
	co_start(task, NULL);
	co_start(canceller, NULL);
	for (int i = 0; i < 2; i++)
		workers[i] = co_loop_thread(&ep);
	must(write(cancel[1], "c", 1));
	must(read(cancelled[0], &byte, 1));
	say("ready");
	pthread_join(workers[0], NULL);
}
