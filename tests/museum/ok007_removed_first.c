// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// As the audit's copy, but done right: the session takes its registration out
// of the set before it closes its number.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], audit, idle;

static void session(void *arg)
{
	char line[64];
	uint64_t n;
	(void)arg;
	must(co_read(ep, conn[0], line, sizeof(line)));
	must(epoll_ctl(ep, EPOLL_CTL_DEL, conn[0], NULL));
	close(conn[0]);
	must(write(conn[1], "more", 4));
	say("ready");
	must(co_read(ep, idle, &n, sizeof(n)));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	idle = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	pair("tcp", conn);
	audit = (int)must(fcntl(conn[0], F_DUPFD_CLOEXEC, 50));
	co_start(session, NULL);
	must(write(conn[1], "bye", 3));
	co_loop(ep);
}
