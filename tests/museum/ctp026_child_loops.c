// SPDX-License-Identifier: MIT
// expect: CTP026 likely, 2 coroutines
//
// Prefork, after the loop was set up: the child runs the loop that it was forked
// with. Its epoll set is the parent's, so the two take each other's events.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2][2];

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE int start_worker(void)
{
	int pid = (int)must(fork()); // fault
	if (pid == 0)
		prctl(PR_SET_PDEATHSIG, SIGKILL);
	return pid;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("unix", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	if (start_worker())
		say("ready");
	co_loop(ep);
}
