// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A supervisor as it should be: SIGCHLD is blocked in every thread, and not ignored. A
// worker has ended and was replaced; the coroutine waits for the next one.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, children, ended;

static void reaper(void *arg)
{
	struct signalfd_siginfo info;
	(void)arg;
	while (co_read(ep, children, &info, sizeof(info)) > 0)
		while (waitpid(-1, NULL, WNOHANG) > 0)
			ended++;
}

static void *idle(void *arg)
{
	(void)arg;
	for (;;)
		pause();
	return NULL;
}

int main(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	children = (int)must(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	co_thread(idle, NULL);
	co_start(reaper, NULL);
	if (!must(fork()))
		_exit(0);
	while (!ended)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
