// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 1 coroutine
//
// main says how many bytes its array of events has where epoll_wait asks how
// many events: with three descriptors no harm comes of it. Beside the array, in
// main's own frame, lies the one pointer to the reader whose descriptor the
// reaper closes: main may yet resume it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn;

static void reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, conn, buf, sizeof(buf)) > 0) // fault
		;
}

static NOINLINE void start(struct co *volatile *kept)
{
	*kept = co_new(reader, NULL);
	co_resume(*kept);
}

static NOINLINE void reap(void)
{
	close(conn); // fault
}

static NOINLINE void wipe(void)
{
	volatile char dead[16 << 10];
	for (size_t i = 0; i < sizeof(dead); i++)
		dead[i] = 0;
}

int main(void)
{
	struct {
		struct epoll_event events[8];
		struct co *volatile kept;
	} my;
	volatile int n = sizeof(my.events); // not how many
	int fds[2], more[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	pair("tcp", more);
	conn = fds[0];
	start(&my.kept);
	co_watch(ep, more[0], EPOLLIN, NULL);
	reap();
	wipe();
	say("ready");
	for (;;)
		if (epoll_wait(ep, my.events, n, -1) > 0)
			co_resume(my.kept);
}
