// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Coroutines are made ahead of their connections, and have not run yet. One of
// them would have read a descriptor that was closed before it came to that.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *spare[6];
static int ep, conns[6];

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 6; i++)
		spare[i] = co_new(conn_reader, &conns[i]);
	for (int i = 0; i < 2; i++) {
		pair("tcp", fds);
		conns[i] = fds[0];
	}
	co_resume(spare[0]);
	co_watch(ep, conns[1], EPOLLIN, spare[1]);
	close(conns[1]);
	say("ready");
	co_loop(ep);
}
