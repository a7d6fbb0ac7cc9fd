// SPDX-License-Identifier: MIT
// expect: CTP026 suspect, 3 coroutines
// engine: both
//
// A server with three idle connections forks a worker for a report. The worker
// does its work in place, without exec, and keeps all that it inherited: the
// epoll set among it, in which the server goes on to register.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3][2], served;

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		served++;
}

static void report_worker(int up)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
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
	for (int i = 0; i < 3; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	if (must(fork()) == 0) // fault
		report_worker(up[1]);
	must(read(up[0], &byte, 1));
	for (int i = 0; i < 3; i++)
		must(write(conns[i][1], "hello", 5));
	while (served < 3)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
