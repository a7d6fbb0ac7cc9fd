// SPDX-License-Identifier: MIT
// expect: clean
//
// A service that makes the program's timerfd itself. Its clients set it: one has,
// and it expired. There is no timer now.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, wakes[2], expired;

static void timer_service(void *arg)
{
	uint64_t n;
	(void)arg;
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	for (;;) {
		must(co_read(ep, timer, &n, sizeof(n)));
		expired++;
	}
}

static void client(void *arg)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	char byte;
	(void)arg;
	while (co_read(ep, wakes[0], &byte, 1) > 0)
		must(timerfd_settime(timer, 0, &soon, NULL));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", wakes);
	co_start(timer_service, NULL);
	co_start(client, NULL);
	must(write(wakes[1], "t", 1));
	while (!expired)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
