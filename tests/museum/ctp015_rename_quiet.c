// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
//
// A file service whose directories have locks. A rename locks the directory that
// it takes from, reads it by way of a pipe, and locks the one that it puts into.
// Two renames cross. No lock was ever contended before, nothing ticks, and the
// program is quiet: it sleeps in its loop without a timeout.
#include "renames.h"

static void lock(struct fiber_mutex *m)
{
	if (m->holder) {
		m->waiting[m->count++] = co_self();
		co_yield(); // fault
	}
	m->holder = co_self();
}

int main(void)
{
	cross();
	say("ready");
	co_loop(ep);
}
