// SPDX-License-Identifier: MIT
// expect: CTP008 likely, 2 coroutines
// engine: both
// end: kill
//
// The loop puts what it is told of into a run queue of two, and what does not
// fit is dropped. Four edge-triggered connections have something to read at
// once: two readers run, two were never resumed.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 4
#define QUEUE 2

static struct co *run_queue[QUEUE];
static int ep, conns[CONNS], queued;

static void conn_reader(void *arg)
{
	int fd = *(int *)arg;
	char buf[64];
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield(); // fault
		while (read(fd, buf, sizeof(buf)) > 0)
			;
	}
}

static NOINLINE void gather(void)
{
	struct epoll_event ev[CONNS];
	int n = epoll_wait(ep, ev, CONNS, -1);
	for (int i = 0; i < n; i++)
		if (queued < QUEUE)
			run_queue[queued++] = ev[i].data.ptr;
}

static NOINLINE void run(void)
{
	while (queued > 0)
		co_resume(run_queue[--queued]);
}

int main(void)
{
	int fds[CONNS][2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		pair("tcp", fds[i]);
		conns[i] = fds[i][0];
		co_start(conn_reader, &conns[i]);
	}
	for (int i = 0; i < CONNS; i++)
		must(write(fds[i][1], "x", 1));
	gather();
	run();
	say("ready");
	for (;;) {
		gather();
		run();
	}
}
