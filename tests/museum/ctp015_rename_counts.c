// SPDX-License-Identifier: MIT
// expect: CTP015 suspect, 2 coroutines in 1 finding
//
// A file service whose directories have locks, as in ctp015_rename_quiet: two renames
// cross. This one notes two signals, so a handler may run, and the loop go round, at any
// time. It lets neither of them go on.
#include <signal.h>

#include "renames.h"

static void lock(struct fiber_mutex *m)
{
	if (m->holder) {
		m->waiting[m->count++] = co_self();
		co_yield(); // fault
	}
	m->holder = co_self();
}

static volatile sig_atomic_t asked;

static void on_signal(int number)
{
	asked += number == SIGUSR1;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_signal};
	must(sigaction(SIGUSR1, &act, NULL));
	must(sigaction(SIGHUP, &act, NULL));
	cross();
	say("ready");
	co_loop(ep);
}
