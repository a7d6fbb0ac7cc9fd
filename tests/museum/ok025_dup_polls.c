// SPDX-License-Identifier: MIT
// expect: clean
//
// The set is moved to a high number, out of the way of select, and the first
// number is closed: the loop goes on with the same set.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2][2];

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	int moved = (int)must(fcntl(ep, F_DUPFD_CLOEXEC, 1000));
	close(ep);
	ep = moved;
	say("ready");
	co_loop(ep);
}
