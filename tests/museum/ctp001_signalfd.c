// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 1 coroutine
// end: kill
//
// A coroutine reaps children: it waits on a signalfd for SIGCHLD. A library's
// clean-up closes "its" descriptor, by a number that it had kept too long, and
// it was the signalfd's.
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, children, kept_number, done;

static void child_reaper(void *arg)
{
	struct signalfd_siginfo info;
	(void)arg;
	while (co_read(ep, children, &info, sizeof(info)) > 0)
		;
}

static void library_cleanup(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, done, &n, sizeof(n)));
	close(kept_number); // fault
	say("ready");
}

static void library_init(void)
{
	kept_number = (int)must(eventfd(0, EFD_CLOEXEC));
	close(kept_number);
}

int main(void)
{
	uint64_t one = 1;
	sigset_t chld;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	library_init();
	sigemptyset(&chld);
	sigaddset(&chld, SIGCHLD);
	must(sigprocmask(SIG_BLOCK, &chld, NULL));
	children = (int)must(signalfd(-1, &chld, SFD_NONBLOCK | SFD_CLOEXEC));
	done = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(child_reaper, NULL);
	co_start(library_cleanup, NULL);
	must(write(done, &one, sizeof(one)));
	co_loop(ep);
}
