// SPDX-License-Identifier: MIT
// expect: CTP005 likely..proven, 1 coroutine
// end: timeout
//
// A loop that never sleeps, and a one-shot row that is armed once. The reader
// stands in a table; the second message lies in its socket.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	int fd;
	struct co *co;
} conn;
static int ep;

static void conn_reader(void *arg)
{
	char message[64];
	ssize_t n;
	(void)arg;
	co_watch(ep, conn.fd, EPOLLIN | EPOLLONESHOT, co_self());
	for (;;) {
		while (co_blocked(n = read(conn.fd, message, sizeof(message))))
			co_yield(); // fault
		if (n <= 0)
			return;
	}
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn.fd = fds[0];
	conn.co = co_new(conn_reader, NULL);
	co_resume(conn.co);
	must(write(fds[1], "one", 3));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(fds[1], "two", 3));
	say("ready");
	for (;;)
		co_turn(ep, 0);
}
