// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// Actors are made thirty at a time, three times in a hundred turns, and live as
// long as the program: that is how it was built.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, clock_fd, turns;

static void actor(void *arg)
{
	(void)arg;
	for (;;)
		co_yield();
}

static void director(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		co_wait(ep, clock_fd, EPOLLIN);
		must(read(clock_fd, &n, sizeof(n)));
		if (turns % 40 == 0)
			for (int i = 0; i < 30; i++)
				co_start(actor, NULL);
		if (++turns < 100)
			must(write(clock_fd, &(uint64_t){1}, 8));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	clock_fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(director, NULL);
	must(write(clock_fd, &(uint64_t){1}, 8));
	while (turns < 100)
		co_turn(ep, -1);
	return 0;
}
