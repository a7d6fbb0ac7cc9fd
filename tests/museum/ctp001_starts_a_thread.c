// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 1 coroutine
//
// A coroutine starts the thread that will do its blocking work, and then waits for its client, whose
// connection is closed. The thread sleeps: its registers still are those with which the coroutine made it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, work[2], conn[2];

static void *worker(void *arg)
{
	char c;
	while (must(read(work[0], &c, 1)) == 1)
		;
	return arg;
}

static void client(void *arg)
{
	pthread_t thread;
	char request;
	must(-pthread_create(&thread, NULL, worker, NULL));
	co_read(ep, *(int *)arg, &request, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(work));
	pair("unix", conn);
	co_start(client, &conn[0]);
	close(conn[0]); // fault
	say("ready");
	co_loop(ep);
}
