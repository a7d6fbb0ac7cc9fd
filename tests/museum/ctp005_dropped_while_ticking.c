// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 3 coroutines
// end: exit
//
// A loop takes a batch of one-shot events, handles the first, and drops the
// others. It wakes up for its housekeeping every now and then: slowly, so that
// there are few turns in which it could have taken up what it dropped.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define READERS 4
#define TICK_MS 400
#define TICKS 19

static int ep, fds[READERS][2];
static struct co *readers[READERS]; // the server could find them

static void reader(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char c;
	co_watch(ep, fd, EPOLLIN | EPOLLONESHOT, co_self());
	while (read(fd, &c, 1) < 0)
		co_yield ();
}

static NOINLINE void turn(void)
{
	struct epoll_event ev[READERS];
	int n = epoll_wait(ep, ev, READERS, TICK_MS);
	if (n > 0)
		co_resume(ev[0].data.ptr);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < READERS; i++) {
		pair("unix", fds[i]);
		readers[i] = co_new(reader, (void *)(intptr_t)fds[i][0]);
		co_resume(readers[i]);
	}
	for (int i = 0; i < READERS; i++)
		must(write(fds[i][1], "x", 1));
	say("ready");
	for (int i = 0; i < TICKS; i++)
		turn();
	return 0;
}
