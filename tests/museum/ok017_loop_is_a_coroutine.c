// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// The scheduler runs in a coroutine itself: that one sleeps in epoll_wait for
// as long as nothing comes, which is what it is for.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2];

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	for (;;)
		co_read(ep, conn[0], &byte, 1);
}

static void scheduler(void *arg)
{
	(void)arg;
	co_start(conn_reader, NULL);
	must(write(conn[1], "g", 1));
	co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	co_start(scheduler, NULL);
}
