// SPDX-License-Identifier: MIT
// expect: CTP010 proven, 1 coroutine
//
// Two workers wait on one epoll set, in which a connection is registered
// level-triggered and without EPOLLONESHOT: while its coroutine runs on one
// worker and has not read yet, the other is given the same event and resumes it, too.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], forever[2], slow[2];
static ucontext_t ctx, *home;
static char stack[64 << 10];
static int wakeups;

static NOINLINE void wait_readable(void)
{
	swapcontext(&ctx, home);
}

static NOINLINE void log_request(void) // to a slow disk
{
	char byte;
	must(write(slow[1], "", 1));
	must(read(forever[0], &byte, 1));
}

static void conn_reader(void)
{
	for (;;) {
		wait_readable();
		if (++wakeups == 1)
			log_request();
	}
}

static void on_event(ucontext_t *here)
{
	home = here;
	swapcontext(here, &ctx); // fault
}

static void *worker(void *arg)
{
	struct epoll_event ev;
	ucontext_t here;
	(void)arg;
	must(read(slow[0], &ev, 1)); // done with what it did before
	must(epoll_wait(ep, &ev, 1, -1));
	until_reads(getpid()); // the disk is slow
	on_event(&here);
	say("ready");
	must(read(forever[0], &ev, 1));
	return NULL;
}

int main(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	ucontext_t here;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conn);
	must(pipe(forever));
	must(pipe(slow));
	must(getcontext(&ctx));
	ctx.uc_stack.ss_sp = stack;
	ctx.uc_stack.ss_size = sizeof(stack);
	makecontext(&ctx, conn_reader, 0);
	on_event(&here);
	must(epoll_ctl(ep, EPOLL_CTL_ADD, conn[0], &ev));
	must(write(conn[1], "r", 1));
	must(epoll_wait(ep, &ev, 1, -1));
	co_thread(worker, NULL);
	on_event(&here);
	return 1;
}
