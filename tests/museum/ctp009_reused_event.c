// SPDX-License-Identifier: MIT
// expect: CTP009 suspect, 1 coroutine
// engine: both
//
// Both legs of a proxy are registered with one struct epoll_event, whose data is
// set once, for the first leg: events of the upstream resume the downstream
// leg, who has nothing to read and waits on.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
static int ep, downstream, upstream;

static void leg(void *arg)
{
	char buf[64];
	int fd = *(int *)arg;
	if (!ev.data.ptr)
		ev.data.ptr = co_self();
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	while (co_blocked(read(fd, buf, sizeof(buf))))
		co_yield(); // fault
}

int main(void)
{
	int fds[2], up[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	pair("tcp", up);
	downstream = fds[0];
	upstream = up[0];
	co_start(leg, &downstream);
	co_start(leg, &upstream);
	must(write(up[1], "200 OK", 6));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
