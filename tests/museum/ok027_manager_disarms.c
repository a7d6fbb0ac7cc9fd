// SPDX-License-Identifier: MIT
// expect: CTP027 none..suspect, 1 coroutine
//
// All deadlines share one timerfd, made by its manager, which sets it to the next
// deadline each time, and disarms it if there is none. Clients set it for theirs. Two
// have expired, and there is none now.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, wakes[2], deadlines, expired;

static void set_next(void)
{
	struct itimerspec next = {.it_value.tv_nsec = deadlines > 0};
	must(timerfd_settime(timer, 0, &next, NULL));
}

static void timer_manager(void *arg)
{
	uint64_t n;
	(void)arg;
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	for (;;) {
		set_next();
		must(co_read(ep, timer, &n, sizeof(n)));
		deadlines--;
		expired++;
	}
}

static void client(void *arg)
{
	char byte;
	(void)arg;
	while (co_read(ep, wakes[0], &byte, 1) > 0) {
		deadlines += 2;
		set_next();
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", wakes);
	co_start(timer_manager, NULL);
	co_start(client, NULL);
	must(write(wakes[1], "t", 1));
	while (expired < 2)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
