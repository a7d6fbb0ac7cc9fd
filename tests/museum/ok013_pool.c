// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
// engine: both
// patched: slot slot_back struct saved
//
// A pool of 64 workers is filled at the start and parked; then requests come,
// one a turn, and each is served by one of the pool, which parks again.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { WORKERS = 64, REQUESTS = 100 };

static int ep, clock_fd, served, nfree;
static struct co *pool[WORKERS];

static void worker(void *arg)
{
	(void)arg;
	for (;;) {
		pool[nfree++] = co_self();
		co_yield();
		served++;
	}
}

static void frontend(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		co_wait(ep, clock_fd, EPOLLIN);
		must(read(clock_fd, &n, sizeof(n)));
		co_resume(pool[--nfree]);
		if (served < REQUESTS)
			must(write(clock_fd, &(uint64_t){1}, 8));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	clock_fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < WORKERS; i++)
		co_start(worker, NULL);
	co_start(frontend, NULL);
	must(write(clock_fd, &(uint64_t){1}, 8));
	while (served < REQUESTS)
		co_turn(ep, -1);
	return 0;
}
