// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A loop that unregisters what it has got an event for: it takes the event,
// puts the coroutine into the run queue, and removes the row. The worker that
// empties the queue is busy for long; the coroutine is on its way.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *run_queue[2];
static int ep, conns[2], work[2];

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE void take_event(int i)
{
	struct epoll_event ev;
	must(epoll_wait(ep, &ev, 1, -1));
	run_queue[i] = ev.data.ptr;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, conns[i], NULL));
}

int main(void)
{
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe2(work, O_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
		must(write(fds[1], "x", 1));
		take_event(i);
	}
	say("ready");
	must(read(work[0], &byte, 1)); // the long job before them
	for (int i = 0; i < 2; i++)
		co_resume(run_queue[i]);
}
