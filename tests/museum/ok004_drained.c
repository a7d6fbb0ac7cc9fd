// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Edge-triggered, and no read goes on until EAGAIN: a read that brings less than
// was asked for has taken all that there was (epoll(7)). What came later was an
// edge of its own.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3];

static void conn_reader(void *arg)
{
	char buf[256];
	int fd = *(int *)arg;
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield();
		while (read(fd, buf, sizeof(buf)) == sizeof(buf))
			;
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		int fds[2];
		pair(i ? "unix" : "tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
		for (int k = 0; k < 2; k++) {
			must(write(fds[1], "request", 7));
			must(co_turn(ep, -1) ? 0 : -1);
		}
	}
	say("ready");
	co_loop(ep);
}
