// SPDX-License-Identifier: MIT
// expect: clean
// said: CTP001, before SIGTERM comes it is so
//
// As ctp001_at_sigterm, and SIGTERM comes: the readers are resumed and end,
// and what the last look before it had found is withdrawn.
#include <signal.h>

#include "late.h"

static volatile sig_atomic_t stop;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
}

static void on_term(int number)
{
	(void)number;
	stop = 1;
}

// The signal is let in only while the loop sleeps, so none is missed.
static bool turn(const sigset_t *in_wait)
{
	struct epoll_event ev;
	return epoll_pwait(ep, &ev, 1, -1, in_wait) >= 0 || !stop;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_term};
	sigset_t term, none;
	sigemptyset(&none);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	must(sigprocmask(SIG_BLOCK, &term, NULL));
	must(sigaction(SIGTERM, &act, NULL));
	open_conns("tcp");
	drop_conns();
	say("ready");
	while (turn(&none))
		;
	resume_all();
	say("goodbye");
}
