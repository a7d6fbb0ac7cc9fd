// SPDX-License-Identifier: MIT
// expect: clean
//
// A debugger attaches between the reaper's close and its resuming of the
// reader, holds the process in a breakpoint's manner, and lets it go.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *reader;
static int ep, conn, go[2];

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, conn, buf, sizeof(buf)) > 0)
		;
}

static void debug(pid_t pid)
{
	char byte;
	must(read(go[0], &byte, 1));
	if (ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0)
		_exit(0); // not allowed here
	must(ptrace(PTRACE_INTERRUPT, pid, NULL, NULL));
	must(waitpid(pid, NULL, __WALL));
	must(ptrace(PTRACE_DETACH, pid, NULL, NULL));
	_exit(0);
}

static void be_debugged(void)
{
	pid_t us = getpid(), debugger = (pid_t)must(fork());
	if (debugger == 0)
		debug(us);
	prctl(PR_SET_PTRACER, debugger);
	must(write(go[1], "", 1));
	must(waitpid(debugger, NULL, 0));
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(go));
	pair("tcp", fds);
	conn = fds[0];
	reader = co_new(conn_reader, NULL);
	co_resume(reader);
	close(conn);
	be_debugged();
	co_resume(reader);
	say("ready");
	co_loop(ep);
}
