// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The server runs cat by fork and exec. Its set is not close-on-exec, so cat
// has it too; but it does not know, and will never touch it.
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

int main(void)
{
	char byte;
	int in[2], out[2];
	ep = (int)must(epoll_create1(0));
	must(pipe2(in, 0));
	must(pipe2(out, 0));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	if (must(fork()) == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		dup2(in[0], 0);
		dup2(out[1], 1);
		execlp("cat", "cat", (char *)NULL);
		_exit(127);
	}
	must(write(in[1], "x", 1));
	must(read(out[0], &byte, 1)); // cat has come to life
	say("ready");
	co_loop(ep);
}
