// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A session is started in each of ninety turns; most go on for as long as the
// program does, and now and then one ends.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { SESSIONS = 90 };

static int ep, clock_fd, started;

static void session(void *arg)
{
	int i = (int)(intptr_t)arg;
	if (i % 30 == 17)
		return;
	co_yield();
}

static void frontend(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		co_wait(ep, clock_fd, EPOLLIN);
		must(read(clock_fd, &n, sizeof(n)));
		co_start(session, (void *)(intptr_t)started);
		if (++started < SESSIONS)
			must(write(clock_fd, &(uint64_t){1}, 8));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	clock_fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(frontend, NULL);
	must(write(clock_fd, &(uint64_t){1}, 8));
	while (started < SESSIONS)
		co_turn(ep, -1);
	return 0;
}
