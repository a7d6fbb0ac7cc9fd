// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 2 coroutines
// engine: both
//
// The acceptor registers a new connection before its coroutine first runs, and
// the coroutine waits without having tried to read: only the registration's
// data says who waits for what. The limit on connections closes two again.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2], limit;

static void conn(void *arg)
{
	char buf[64];
	co_yield(); // the loop resumes it when there is something to read
	while (read(*(int *)arg, buf, sizeof(buf)) > 0)
		co_yield();
}

static NOINLINE void on_accept(int i)
{
	int fds[2];
	struct co *c = co_new(conn, &conns[i]);
	pair("tcp", fds);
	conns[i] = fds[0];
	co_watch(ep, fds[0], EPOLLIN | EPOLLRDHUP, c);
	co_resume(c);
}

static void enforce_limit(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, limit, &n, sizeof(n)));
	for (int i = 0; i < 2; i++)
		close(conns[i]); // fault
	say("ready");
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	limit = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(enforce_limit, NULL);
	on_accept(0);
	on_accept(1);
	must(write(limit, &one, sizeof(one)));
	co_loop(ep);
}
