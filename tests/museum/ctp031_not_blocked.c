// SPDX-License-Identifier: MIT
// expect: CTP031 suspect, 1 coroutine
//
// A server that reads its configuration again when it is told by SIGUSR1, and rotates
// its log by SIGUSR2. Both come through one signalfd; but its mask was built first, and
// only SIGHUP, which it has not, is blocked. What comes is taken by the handlers of a
// library, which count it.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static volatile sig_atomic_t counted;
static int ep, orders, reloads;

static void count(int number)
{
	(void)number;
	counted++;
}

static void reloader(void *arg)
{
	struct signalfd_siginfo info;
	(void)arg;
	while (co_read(ep, orders, &info, sizeof(info)) > 0) // fault
		reloads++;
}

int main(void)
{
	sigset_t set, blocked;
	struct sigaction act = {.sa_handler = count, .sa_flags = SA_RESTART};
	must(sigaction(SIGUSR1, &act, NULL));
	must(sigaction(SIGUSR2, &act, NULL));
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigaddset(&set, SIGUSR2);
	sigemptyset(&blocked);
	sigaddset(&blocked, SIGHUP);
	must(sigprocmask(SIG_BLOCK, &blocked, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	orders = (int)must(signalfd(-1, &set, SFD_NONBLOCK | SFD_CLOEXEC));
	co_start(reloader, NULL);
	kill(getpid(), SIGUSR1);
	while (!counted)
		nap_ms(1);
	say("ready");
	co_loop(ep);
}
