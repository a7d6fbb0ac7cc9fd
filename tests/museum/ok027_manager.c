// SPDX-License-Identifier: MIT
// expect: clean
//
// All deadlines of the program share one timerfd, made by main. There are none
// now: it is disarmed, and its manager waits until somebody sets one.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, conn, expired;

static void timer_manager(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		must(co_read(ep, timer, &n, sizeof(n)));
		expired++;
	}
}

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, conn, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1};
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	co_start(timer_manager, NULL);
	co_start(conn_reader, NULL);
	must(timerfd_settime(timer, 0, &soon, NULL));
	while (!expired)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
