// SPDX-License-Identifier: MIT
// expect: CTP026 likely, 2 coroutines
// run: --follow-forks
//
// The child of a server starts a reader of its own, whose pipe it registers in
// the set that it inherited, in the belief that this is a copy. The row is the
// parent's as well.
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

static void worker(int up)
{
	int jobs[2];
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	pair("pipe", jobs);
	co_start(conn_reader, &jobs[0]);
	must(write(up, "", 1));
	for (;;)
		pause();
}

int main(void)
{
	char byte;
	int up[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(up));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	if (must(fork()) == 0) // fault
		worker(up[1]);
	must(read(up[0], &byte, 1));
	say("ready");
	co_loop(ep);
}
