// SPDX-License-Identifier: MIT
// expect: clean
//
// The scheduler is a coroutine itself, and main's own stack waits, by design,
// until the daemon ends; a second coroutine is parked in the same way.
#include <sys/epoll.h>
#include <ucontext.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static ucontext_t main_context, scheduler;
static int ep, client;

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void housekeeping(void *arg)
{
	(void)arg;
	co_yield(); // until the daemon ends
}

static void schedule(void)
{
	int fds[2];
	pair("tcp", fds);
	client = fds[0];
	co_start(conn_reader, &client);
	co_start(housekeeping, NULL);
	say("ready");
	co_loop(ep);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(getcontext(&scheduler));
	scheduler.uc_stack.ss_size = 128 << 10;
	scheduler.uc_stack.ss_sp = must_map(scheduler.uc_stack.ss_size);
	scheduler.uc_link = &main_context;
	makecontext(&scheduler, schedule, 0);
	must(swapcontext(&main_context, &scheduler));
}
