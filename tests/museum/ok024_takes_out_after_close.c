// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A library that takes a number out of its epoll set when it is told that it was
// closed: EPOLL_CTL_DEL says EBADF, as it knows. Numbers that were never open, and
// -1 where none is, are closed as well.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];

static void owner(void *arg)
{
	(void)arg;
	co_watch(ep, fds[0], EPOLLIN, co_self());
	co_yield();
	close(fds[0]);
	epoll_ctl(ep, EPOLL_CTL_DEL, fds[0], NULL);
	close(-1);
	close(900);
	co_yield();
}

int main(void)
{
	struct co *c = co_new(owner, NULL);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	co_resume(c);
	co_resume(c);
	say("ready");
	co_loop(ep);
}
