// SPDX-License-Identifier: MIT
// expect: clean
//
// A read with an optional timeout: the session made a timer for it, disarmed as
// no timeout is wanted, and waits for both, the socket and the timer.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn;

static ssize_t read_until(int timer, char *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(conn, buf, n))) {
		co_watch(ep, conn, EPOLLIN | EPOLLONESHOT, co_self());
		co_watch(ep, timer, EPOLLIN | EPOLLONESHOT, co_self());
		co_yield();
	}
	return r;
}

static void session(void *arg)
{
	int timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	char buf[64];
	(void)arg;
	while (read_until(timer, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	co_start(session, NULL);
	must(write(fds[1], "x", 1));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
