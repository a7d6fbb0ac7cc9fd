// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// An upgrade in place: the server closes every descriptor in a loop, under all
// its waiters, and becomes another program. No coroutine of the old one exists
// any more.
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[5];

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void serve(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 5; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
	}
}

int main(int argc, char **argv)
{
	serve();
	if (argc > 1 && strcmp(argv[1], "upgraded") == 0) {
		say("upgraded");
		exit(0);
	}
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	must(execl("/proc/self/exe", "server", "upgraded", NULL));
}
