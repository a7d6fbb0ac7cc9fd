// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 1 coroutine
// engine: both
//
// Heartbeats are empty datagrams on a Unix socket: to read nothing is no end
// there. The monitor has had two and waits for the next when the supervisor
// closes its socket.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, beats[2];

static void monitor(void *arg)
{
	char buf[16];
	(void)arg;
	co_watch(ep, beats[0], EPOLLIN, co_self());
	for (;;) {
		co_yield(); // fault
		must(recv(beats[0], buf, sizeof(buf), 0));
	}
}

static void supervisor(void *arg)
{
	(void)arg;
	close(beats[0]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0, beats));
	co_start(monitor, NULL);
	for (int i = 0; i < 2; i++) {
		must(send(beats[1], "", 0, 0));
		must(co_turn(ep, -1) ? 0 : -1);
	}
	co_start(supervisor, NULL);
	say("ready");
	co_loop(ep);
}
