// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Each coroutine closes the connection that it has served, and is then parked
// for the next one. Nobody else closed anything under it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[4], served;

static void serve(void *arg)
{
	char buf[64];
	int fd = *(int *)arg;
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	served++;
	for (;;)
		co_yield(); // parked
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 4; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(serve, &conns[i]);
		must(write(fds[1], "bye", 3));
		close(fds[1]);
	}
	while (served < 4)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
