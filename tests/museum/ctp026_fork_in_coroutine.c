// SPDX-License-Identifier: MIT
// expect: CTP026 suspect, 3 coroutines in 1 finding
//
// Two threads run one loop. A coroutine forks to take a snapshot of the
// memory, as key-value servers do, and the child writes it out without closing
// the epoll set; two subscribers wait meanwhile.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, topics[2][2], save;

static void subscriber(void *arg)
{
	char message[64];
	int fd = *(int *)arg;
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	while (co_blocked(read(fd, message, sizeof(message))))
		co_yield();
}

static NOINLINE void snapshot_start(void)
{
	if (must(fork()) == 0) { // fault
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			pause();
	}
}

static void snapshotter(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, save, &n, sizeof(n)));
	snapshot_start();
	must(write(save, &(uint64_t){1}, 8));
	co_wait(ep, save, EPOLLIN);
	must(read(save, &n, sizeof(n)));
	say("ready");
	must(co_read(ep, save, &n, sizeof(n)));
}

static void *second_worker(void *arg)
{
	co_loop(*(int *)arg);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	save = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("pipe", topics[i]);
		co_start(subscriber, &topics[i][0]);
	}
	co_start(snapshotter, NULL);
	pthread_t t = co_thread(second_worker, &ep);
	must(write(save, &(uint64_t){1}, 8));
	pthread_join(t, NULL);
}
