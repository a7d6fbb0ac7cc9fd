// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 2 coroutines
// engine: both
//
// The scheduler registers a descriptor after the switch, on behalf of the
// coroutine that left (one-shot). An upgrade of the sessions closes two of
// them from the loop itself, and nobody resumes their coroutines.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, sessions[2];

static void session(void *arg)
{
	char line[80];
	while (co_read(ep, *(int *)arg, line, sizeof(line)) > 0)
		;
}

static void on_upgrade(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	for (int i = 0; i < 2; i++)
		close(sessions[i]); // fault
	say("ready");
}

int main(void)
{
	static struct co_handler upgrade = {.fn = on_upgrade};
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_scheduler_registers = true;
	for (int i = 0; i < 2; i++) {
		int fds[2];
		pair("unix", fds);
		sessions[i] = fds[0];
		co_start(session, &sessions[i]);
	}
	upgrade.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &upgrade, EPOLLIN);
	must(write(upgrade.fd, &one, sizeof(one)));
	co_loop(ep);
}
