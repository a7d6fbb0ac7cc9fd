// SPDX-License-Identifier: MIT
// expect: CTP031 suspect, 1 coroutine
// engine: both
//
// A supervisor. It ignores SIGCHLD at first, so that the helpers of its start leave no
// zombies, and forgets that when it makes the signalfd from which a coroutine learns
// which worker has ended: the kernel tells nobody, and the worker is never replaced.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, children, workers;
static pid_t worker;

static void reaper(void *arg)
{
	struct signalfd_siginfo info;
	(void)arg;
	while (co_read(ep, children, &info, sizeof(info)) > 0) // fault
		while (waitpid(-1, NULL, WNOHANG) > 0)
			workers--;
}

static NOINLINE void start_worker(void)
{
	worker = (pid_t)must(fork());
	if (!worker)
		_exit(0);
	workers++;
}

int main(void)
{
	sigset_t set;
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGCHLD);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	children = (int)must(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	co_start(reaper, NULL);
	start_worker();
	while (!kill(worker, 0)) // nobody waits for it: it is gone at once
		nap_ms(1);
	say("ready");
	co_loop(ep);
}
