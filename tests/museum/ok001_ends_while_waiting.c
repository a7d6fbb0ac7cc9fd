// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// The program has done what it was for and ends, by exit, while connections
// still wait for their clients.
#include <stdlib.h>
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static int ep, conns[6];

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 6; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
	}
	say("done");
	exit(0);
}
