// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
// engine: both
//
// A request's coroutine sees to it that somebody reads the next one, asks the
// disk, and goes to the pool, which gives none out before a batch is full (as
// that of QEMU): for a while there are more of them in every turn, all idle.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { REQUESTS = 50, BATCH = 64 };

static int ep, requests, served, nreleased;
static struct co *released[BATCH];

static void request(void *arg);

static void next_request(void)
{
	if (nreleased == BATCH)
		co_resume(released[--nreleased]);
	else
		co_start(request, NULL);
}

static void request(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		co_wait(ep, requests, EPOLLIN);
		must(read(requests, &n, sizeof(n)));
		next_request();
		int disk = (int)must(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
		co_wait(ep, disk, EPOLLIN);
		close(disk);
		served++;
		must(write(requests, &(uint64_t){1}, 8));
		released[nreleased++] = co_self();
		co_yield();
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	requests = (int)must(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
	next_request();
	while (served < REQUESTS)
		co_turn(ep, -1);
	return 0;
}
