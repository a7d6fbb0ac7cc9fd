// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 3 coroutines
//
// Three connections are idle; a reaper, another coroutine, closes them. The
// kernel drops their registrations and tells nobody, so the readers sleep for
// ever: nothing but those registrations knew them.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, idle[3], sweep;

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void reaper(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, sweep, &n, sizeof(n)));
	for (int i = 0; i < 3; i++)
		close(idle[i]); // fault
	say("ready");
}

static void on_accept(int i)
{
	int fds[2];
	pair("tcp", fds);
	idle[i] = fds[0];
	co_start(conn_reader, &idle[i]);
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
