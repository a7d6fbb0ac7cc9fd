// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// As ctp001_by_signal, and the signal comes.
#include <signal.h>

#include "late.h"

static volatile sig_atomic_t sweep;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
}

static void on_usr1(int number)
{
	(void)number;
	sweep = 1;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_usr1};
	open_conns("pipe");
	must(sigaction(SIGUSR1, &act, NULL));
	drop_conns();
	co_turn(ep, 10);
	must(raise(SIGUSR1));
	while (ended < CONNS) {
		if (sweep)
			resume_all();
		else
			co_turn(ep, -1); // ended early by the signal
	}
	say("swept");
}
