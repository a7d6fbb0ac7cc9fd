// SPDX-License-Identifier: MIT
// expect: clean
//
// Two priorities: what is ready on the bulk connection is served only when the
// loop has had nothing else to do for a while, by the timeout of its wait.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define IDLE_MS (10 * 60 * 1000)

static struct co *bulk_ready;
static int ep, bulk;

static void bulk_reader(void *arg)
{
	char buf[64];
	(void)arg;
	co_watch(ep, bulk, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield();
		while (read(bulk, buf, sizeof(buf)) > 0)
			;
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	int n = epoll_wait(ep, &ev, 1, bulk_ready ? IDLE_MS : -1);
	if (n == 1) {
		bulk_ready = ev.data.ptr;
	} else if (n == 0) {
		co_resume(bulk_ready);
		bulk_ready = NULL;
	}
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	bulk = fds[0];
	co_start(bulk_reader, NULL);
	must(write(fds[1], "bulk", 4));
	turn();
	say("ready");
	for (;;)
		turn();
}
