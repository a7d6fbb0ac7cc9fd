// SPDX-License-Identifier: MIT
// expect: fact CTP009
// engine: both
//
// The loop of a library wakes its coroutine by a byte in a pipe. A thread that starts a child
// empties the pipe first, so that the child inherits nothing unread, and takes the byte of a
// wakeup that nobody has seen yet. No event comes, and nobody writes again.
#include <pthread.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, wakeups[2], asks[2], woken;

static void sleeper(void *arg)
{
	char byte;
	(void)arg;
	while (co_read(ep, wakeups[0], &byte, 1) > 0)
		woken++;
}

static void reader(void *arg)
{
	char byte;
	(void)arg;
	while (co_read(ep, asks[0], &byte, 1) > 0)
		;
}

static void *prepare(void *arg)
{
	char bytes[64];
	(void)arg;
	while (read(wakeups[0], bytes, sizeof(bytes)) > 0) // fault
		;
	return NULL;
}

int main(void)
{
	pthread_t thread;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", wakeups);
	pair("unix", asks);
	co_start(sleeper, NULL);
	co_start(reader, NULL);
	must(write(wakeups[1], "w", 1));
	must(co_turn(ep, -1) ? 0 : -1);
	must(woken == 1 ? 0 : -1);
	must(write(wakeups[1], "w", 1));
	must(-pthread_create(&thread, NULL, prepare, NULL));
	must(-pthread_join(thread, NULL));
	say("ready");
	co_loop(ep);
}
