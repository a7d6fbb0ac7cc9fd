// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The cure: the reaper only shuts idle connections down. Each reader is woken
// by the kernel, sees the end of the stream in a later turn, and closes the
// descriptor itself. Two connections are left.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 5
#define IDLE 3

static int ep, conns[CONNS], sweep, closed;

static void conn_reader(void *arg)
{
	int fd = *(int *)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	if (++closed == IDLE)
		say("ready");
}

static void reaper(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, sweep, &n, sizeof(n)));
	for (int i = 0; i < IDLE; i++)
		must(shutdown(conns[i], SHUT_RDWR));
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	sweep = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(reaper, NULL);
	for (int i = 0; i < CONNS; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
	}
	must(write(sweep, &one, sizeof(one)));
	co_loop(ep);
}
