// SPDX-License-Identifier: MIT
// expect: CTP005 proven, 2 coroutines
// engine: both
// patched: slot slot_back struct saved
//
// Each connection is registered one-shot when its reader begins, and never
// again. The first message wakes the reader; it reads until there is no more,
// and waits for a second one, of which the kernel tells nobody.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2];

static void conn_reader(void *arg)
{
	char message[64];
	int fd = *(int *)arg;
	co_watch(ep, fd, EPOLLIN | EPOLLONESHOT, co_self());
	for (;;) {
		ssize_t n = read(fd, message, sizeof(message));
		if (co_blocked(n))
			co_yield(); // fault
		else if (n <= 0)
			return;
	}
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
		must(write(fds[1], "one", 3));
		must(co_turn(ep, -1) ? 0 : -1);
		must(write(fds[1], "two", 3));
	}
	say("ready");
	co_loop(ep);
}
