// SPDX-License-Identifier: MIT
// expect: clean
//
// Blocking work is given to threads of its own, by design, and runs there in a
// coroutine each (so that it may be cancelled). Those threads run no loop; the
// loop's own thread goes on.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, done[2], conn[2];

static void blocking_job(void *arg)
{
	(void)arg;
	nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); // stat() of a network disk
	co_yield();
}

static void *pool_thread(void *arg)
{
	(void)arg;
	co_start(blocking_job, NULL);
	must(write(done[1], "d", 1));
	return NULL;
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
}

static void collector(void *arg)
{
	char byte;
	(void)arg;
	for (int left = 3; left > 0; left--)
		co_read(ep, done[0], &byte, 1);
	say("ready");
	co_read(ep, done[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", done);
	pair("tcp", conn);
	co_start(conn_reader, NULL);
	co_start(collector, NULL);
	for (int i = 0; i < 3; i++)
		co_thread(pool_thread, NULL);
	co_loop(ep);
}
