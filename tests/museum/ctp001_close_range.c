// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 2 coroutines
// end: timeout
//
// Before it starts a helper the daemon closes "everything above 10", as a
// child would, but does so in the parent. Two tunnels had their ends there.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define HIGHEST_OF_OURS 10

static int ep, tunnels[2], spawn;

static void tunnel(void *arg)
{
	char packet[1500];
	while (co_read(ep, *(int *)arg, packet, sizeof(packet)) > 0)
		;
}

static void helper_spawner(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, spawn, &n, sizeof(n)));
	must(close_range(HIGHEST_OF_OURS + 1, ~0U, 0)); // fault
	say("ready");
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	spawn = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		int fds[2];
		pair("udp", fds);
		tunnels[i] = (int)must(fcntl(fds[0], F_DUPFD_CLOEXEC, 20));
		close(fds[0]);
		co_start(tunnel, &tunnels[i]);
	}
	co_start(helper_spawner, NULL);
	must(write(spawn, &one, sizeof(one)));
	co_loop(ep);
}
