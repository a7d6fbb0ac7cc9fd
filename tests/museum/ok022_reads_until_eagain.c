// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A busy connection: each event brings a message, which is read, and then EAGAIN.
// Now and then there is an event for nothing, as a message was read with the one before.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];

static void conn_reader(void *arg)
{
	char buf[8];
	(void)arg;
	co_watch(ep, fds[0], EPOLLIN | EPOLLET, co_self());
	for (;;)
		if (co_blocked(read(fds[0], buf, sizeof(buf))))
			co_yield();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	co_start(conn_reader, NULL);
	for (int i = 0; i < 500; i++) {
		must(write(fds[1], "message", 8));
		co_turn(ep, -1);
		co_turn(ep, 0);
	}
	say("ready");
	co_loop(ep);
}
