// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// engine: both
//
// The client speaks first. By the time its session registers the connection,
// level-triggered, the greeting is there: the first read gets it, and the session
// yields until there is more. A reaper closes the connections.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3], sweep;

static void session(void *arg)
{
	int fd = *(int *)arg;
	char line[64];
	co_watch(ep, fd, EPOLLIN, co_self());
	while (read(fd, line, sizeof(line)) > 0)
		co_yield(); // fault
}

static void reaper(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, sweep, &n, sizeof(n)));
	for (int i = 0; i < 3; i++)
		close(conns[i]); // fault
	say("ready");
}

static void on_accept(int i)
{
	int fds[2];
	pair("tcp", fds);
	must(write(fds[1], "HELO\n", 5));
	conns[i] = fds[0];
	co_start(session, &conns[i]);
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	sweep = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(reaper, NULL);
	for (int i = 0; i < 3; i++)
		on_accept(i);
	must(write(sweep, &one, sizeof(one)));
	co_loop(ep);
}
