// SPDX-License-Identifier: MIT
// expect: CTP017 suspect, 1 coroutines
//
// Three workers on one epoll set. One of them sleeps in a read of a pipe that
// is not non-blocking: two are left to serve, until more do the same.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], feed[2], log_pipe[2];

static NOINLINE void read_acknowledgement(void)
{
	char byte;
	must(read(log_pipe[0], &byte, 1)); // fault
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	read_acknowledgement();
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

static void subscriber(void *arg)
{
	char byte;
	(void)arg;
	for (;;)
		co_read(ep, feed[0], &byte, 1);
}

static void *logger(void *arg)
{
	(void)arg;
	nap_ms(600); // its disk is slow
	must(write(log_pipe[1], "a", 1));
	return NULL;
}

int main(void)
{
	pthread_t workers[3];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(log_pipe));
	pair("pipe", conn);
	pair("unix", feed);
	co_start(subscriber, NULL);
	co_start(conn_reader, NULL);
	for (int i = 0; i < 3; i++)
		workers[i] = co_loop_thread(&ep);
	co_thread(logger, NULL);
	must(write(conn[1], "g", 1));
	pthread_join(workers[0], NULL);
}
