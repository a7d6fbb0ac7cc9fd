// SPDX-License-Identifier: MIT
// expect: CTP022 suspect, 1 coroutine
// engine: both
//
// A reader registers for both directions, level-triggered, once and for all. Its
// socket is writable all the time: each turn of the loop resumes it, for EAGAIN.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	co_watch(ep, fds[0], EPOLLIN | EPOLLOUT, co_self());
	while (co_blocked(read(fds[0], buf, sizeof(buf))))
		co_yield(); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	co_start(conn_reader, NULL);
	for (int i = 0; i < 350; i++)
		co_turn(ep, -1);
	say("ready");
	pause();
}
