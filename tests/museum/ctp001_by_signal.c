// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
//
// SIGUSR1 tells the server to sweep what it has closed. Nothing in it ever
// wakes by itself, but a signal with a handler may come at any time.
#include <signal.h>

#include "late.h"

static volatile sig_atomic_t sweep;

static NOINLINE void drop_conns(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd); // fault
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
	say("ready");
	while (ended < CONNS) {
		if (sweep)
			resume_all();
		else
			co_turn(ep, -1); // ended early by the signal
	}
	say("swept");
}
