// SPDX-License-Identifier: MIT
// expect: CTP017 likely, 1 coroutines
//
// A coroutine runs a helper program and waits for it with waitpid; connections
// on the same loop wait as long as the helper takes.
#include <sys/epoll.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, hooks[2], conn[2];

static NOINLINE void run_hook(void)
{
	int status;
	pid_t pid = (pid_t)must(fork());
	if (pid == 0) {
		nanosleep(&(struct timespec){.tv_nsec = 400000000}, NULL); // what it does
		_exit(0);
	}
	must(waitpid(pid, &status, 0)); // fault
}

static void hook_runner(void *arg)
{
	char name;
	(void)arg;
	co_read(ep, hooks[0], &name, 1);
	run_hook();
	say("ready");
	co_read(ep, hooks[0], &name, 1);
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", hooks);
	pair("tcp", conn);
	co_start(conn_reader, NULL);
	co_start(hook_runner, NULL);
	must(write(hooks[1], "h", 1));
	co_loop(ep);
}
