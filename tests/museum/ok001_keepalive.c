// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Idle keep-alive connections: live descriptors, the right mask, empty queues.
// They may wait so for ever.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static int ep, conns[5];

static void conn_reader(void *arg)
{
	char request[256];
	while (co_read(ep, *(int *)arg, request, sizeof(request)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 5; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
	}
	say("ready");
	co_loop(ep);
}
