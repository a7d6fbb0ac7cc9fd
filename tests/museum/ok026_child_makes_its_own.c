// SPDX-License-Identifier: MIT
// expect: clean
//
// A worker is forked, closes the set that it inherited, and makes its own.
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
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	close(ep);
	for (int i = 0; i < 2; i++) {
		close(conns[i][0]);
		close(conns[i][1]);
	}
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(write(up, "", 1));
	co_loop(ep);
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
	if (must(fork()) == 0)
		worker(up[1]);
	must(read(up[0], &byte, 1));
	say("ready");
	co_loop(ep);
}
