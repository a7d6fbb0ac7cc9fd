// SPDX-License-Identifier: MIT
// expect: CTP013 suspect, 48 coroutines
// patched: slot struct
// end: exit
//
// Each lookup goes to a resolver thread, which drops the ones it cannot answer;
// the coroutine waits on its own eventfd for an answer without a deadline.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { LOOKUPS = 48 };

static int ep, lookups, clock_fd;

static void lookup(void *arg)
{
	uint64_t answer;
	int fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	(void)arg;
	must(co_read(ep, fd, &answer, sizeof(answer)));
	close(fd);
}

static void frontend(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		co_wait(ep, clock_fd, EPOLLIN);
		must(read(clock_fd, &n, sizeof(n)));
		co_start(lookup, NULL); // fault
		if (++lookups < LOOKUPS)
			must(write(clock_fd, &(uint64_t){1}, 8));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	clock_fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(frontend, NULL);
	must(write(clock_fd, &(uint64_t){1}, 8));
	while (lookups < LOOKUPS)
		co_turn(ep, -1);
	return 0;
}
