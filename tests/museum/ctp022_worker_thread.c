// SPDX-License-Identifier: MIT
// expect: CTP022 suspect, 1 coroutine
//
// Edge-triggered, but re-armed (MOD) before each suspension, for "everything":
// each MOD brings an edge for what is ready already, and the worker thread spins.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];

static void session(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_blocked(read(fds[0], buf, sizeof(buf))))
		co_wait(ep, fds[0], EPOLLIN | EPOLLOUT | EPOLLET); // fault
}

static void *worker(void *arg)
{
	(void)arg;
	co_start(session, NULL);
	for (int i = 0; i < 250; i++)
		co_turn(ep, -1);
	say("ready");
	pause();
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	pthread_join(co_thread(worker, NULL), NULL);
}
