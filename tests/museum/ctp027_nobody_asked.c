// SPDX-License-Identifier: MIT
// expect: CTP027 suspect, 1 coroutine
//
// A service makes the program's timerfd, and whoever is the first to want a timer
// sets it. Nobody has wanted one yet: it may as well have been forgotten.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, wakes[2];

static void timer_service(void *arg)
{
	uint64_t n;
	(void)arg;
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	for (;;)
		must(co_read(ep, timer, &n, sizeof(n)));
}

static void client(void *arg)
{
	struct itimerspec soon = {.it_value.tv_sec = 1};
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
	say("ready");
	co_loop(ep);
}
