// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 2 coroutines in 1 finding
// end: timeout
//
// A loop for short latencies never sleeps: it asks with a timeout of 0, again
// and again. An idle reaper closes two connections under their readers, which
// stand in a table.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 2

static struct conn {
	int fd;
	struct co *co;
} conns[CONNS];
static int ep;

static void conn_reader(void *arg)
{
	struct conn *c = arg;
	char message[64];
	ssize_t n;
	for (;;) {
		while (co_blocked(n = read(c->fd, message, sizeof(message)))) {
			co_watch(ep, c->fd, EPOLLIN | EPOLLONESHOT, co_self());
			co_yield(); // fault
		}
		if (n <= 0)
			return;
	}
}

static NOINLINE void reap(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		pair("tcp", fds);
		conns[i].fd = fds[0];
		conns[i].co = co_new(conn_reader, &conns[i]);
		co_resume(conns[i].co);
	}
	reap();
	say("ready");
	for (;;)
		co_turn(ep, 0);
}
