// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The number under which the reader registered is closed, but a duplicate of
// it stays open: the description lives, its row in the set too, and the reader
// will be woken. (Sloppy, as the row can no longer be removed by its number.)
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3], log_copy[3];

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
	}
	for (int i = 0; i < 3; i++) {
		log_copy[i] = (int)must(fcntl(conns[i], F_DUPFD_CLOEXEC, 50));
		close(conns[i]);
	}
	say("ready");
	co_loop(ep);
}
