// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 1 coroutine
//
// A coroutine writes a checkpoint every hour: it waits on a timerfd, level-
// triggered and registered once. Reloading the configuration closes that timer
// and starts another coroutine with a new one; the old one never wakes.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, config;

static void checkpoint(void *arg)
{
	int fd = *(int *)arg;
	uint64_t expirations;
	co_watch(ep, fd, EPOLLIN, co_self());
	for (;;) {
		if (co_blocked(read(fd, &expirations, sizeof(expirations))))
			co_yield();
	}
}

static NOINLINE void start_checkpoints(void)
{
	struct itimerspec hourly = {{3600, 0}, {3600, 0}};
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(timer, 0, &hourly, NULL));
	co_start(checkpoint, &timer);
}

static void on_reload(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, config, &n, sizeof(n)));
	close(timer); // fault
	start_checkpoints();
	say("ready");
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	config = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	start_checkpoints();
	co_start(on_reload, NULL);
	must(write(config, &one, sizeof(one)));
	co_loop(ep);
}
