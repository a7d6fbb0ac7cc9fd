// SPDX-License-Identifier: MIT
// expect: clean
//
// The coroutine's event has been taken: it stands in the run queue, and the
// only worker is busy with something long when the descriptor is closed. It
// will run as soon as that is done.
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
	pair("tcp", fds);
	conn = fds[0];
	co_start(conn_reader, NULL);
	must(write(fds[1], "x", 1));
	must(epoll_wait(ep, &ev, 1, -1));
	run_queue = ev.data.ptr;
	close(conn);
	say("ready");
	long_work();
	co_resume(run_queue);
}
