// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
//
// A server forks a child for a report. The child drains the loop's set once, to be rid of
// what it inherited, and ends; what it took were the parent's events, and the parent's
// registrations are one-shot.
#include <sys/epoll.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2][2];

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0) // fault
		;
}

static NOINLINE void report(void)
{
	struct epoll_event ev[8];
	int status, pid = (int)must(fork());
	if (pid == 0)
		_exit(epoll_wait(ep, ev, 8, 0) == 1 ? 0 : 1);
	must(waitpid(pid, &status, 0));
	must(status == 0 ? 0 : -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	must(write(conns[0][1], "hello", 5));
	report();
	say("ready");
	co_loop(ep);
}
