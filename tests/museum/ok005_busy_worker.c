// SPDX-License-Identifier: MIT
// expect: clean
//
// The one-shot row has fired, and its event stands in the queue of a worker
// that is busy with something long. The coroutine will run, and arm it again.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *run_queue;
static int ep, conn, work[2];

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, conn, buf, sizeof(buf)) > 0)
		;
}

static void long_work(void)
{
	char byte;
	must(read(work[0], &byte, 1)); // a computation, an answer from a disk
}

int main(void)
{
	struct epoll_event ev;
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe2(work, O_CLOEXEC));
	pair("unix", fds);
	conn = fds[0];
	co_start(conn_reader, NULL);
	must(write(fds[1], "x", 1));
	must(epoll_wait(ep, &ev, 1, -1));
	run_queue = ev.data.ptr;
	say("ready");
	long_work();
	co_resume(run_queue);
}
