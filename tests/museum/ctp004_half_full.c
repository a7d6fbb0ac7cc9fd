// SPDX-License-Identifier: MIT
// expect: CTP004 likely..proven, 1 coroutine
//
// The other direction. A logger writes to a pipe that is watched
// edge-triggered, one block for each event. When the pipe has been emptied there
// is room for many, one is written, and no edge comes for the rest of the room.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, sink[2];

static void logger(void *arg)
{
	static const char block[4096];
	(void)arg;
	co_watch(ep, sink[1], EPOLLOUT | EPOLLET, co_self());
	while (!co_blocked(write(sink[1], block, sizeof(block))))
		;
	for (;;) {
		co_yield(); // fault
		must(write(sink[1], block, sizeof(block)));
	}
}

static void empty(void)
{
	char buf[4096];
	for (int i = 0; i < 16; i++)
		must(read(sink[0], buf, sizeof(buf)));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", sink);
	co_start(logger, NULL);
	co_turn(ep, 0); // the room that there was when it was registered
	empty();
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
