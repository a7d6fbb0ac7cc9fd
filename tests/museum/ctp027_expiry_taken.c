// SPDX-License-Identifier: MIT
// expect: CTP027 likely..proven, 1 coroutine
//
// A coroutine waits for its own timer, which expires once. Another one looks through all timers
// whether some have expired, and reads each: this one has, and its expiry is gone. Nothing sets
// it again.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, commands[2], fired;

static void delayed(void *arg)
{
	struct itimerspec soon = {.it_value = {.tv_nsec = 1}};
	uint64_t n;
	(void)arg;
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(timer, 0, &soon, NULL));
	co_wait(ep, timer, EPOLLIN);
	while (co_blocked(read(timer, &n, sizeof(n))))
		co_wait(ep, timer, EPOLLIN); // fault
	fired++;
}

static void statistics(void *arg)
{
	char command;
	uint64_t n;
	(void)arg;
	while (co_read(ep, commands[0], &command, 1) > 0)
		while (co_blocked(read(timer, &n, sizeof(n)))) // fault
			;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", commands);
	co_start(statistics, NULL);
	must(write(commands[1], "s", 1));
	co_start(delayed, NULL);
	must(co_turn(ep, -1) ? 0 : -1);
	must(fired == 0 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
