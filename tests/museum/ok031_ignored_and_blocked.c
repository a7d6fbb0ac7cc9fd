// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// order: SIGUSR1
//
// A coroutine waits on a signalfd for a signal that the program ignores, as its parent
// did; but it is blocked, and so it comes all the same: the kernel drops no signal that
// is blocked. Another one of the mask, SIGCHLD, can never come.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, orders, taken;

static void operator_main(void *arg)
{
	struct signalfd_siginfo info;
	(void)arg;
	while (co_read(ep, orders, &info, sizeof(info)) > 0)
		taken++;
}

int main(void)
{
	sigset_t set;
	signal(SIGUSR1, SIG_IGN);
	signal(SIGCHLD, SIG_IGN);
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGCHLD);
	must(sigprocmask(SIG_BLOCK, &set, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	orders = (int)must(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	co_start(operator_main, NULL);
	say("ready");
	while (!taken)
		co_turn(ep, -1);
	say("resumed");
}
