// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 1 coroutine
// not: history lost, a rhythm is read from there
//
// Pollers ask their sites again and again, with a pause. One of them fails once, and is to try
// again later: its timer is set with the repeat that it has not, which stops it. The others go on.
#include "rhythm.h"

#define POLLERS 4

static int polled[POLLERS];

static NOINLINE void back_off(void)
{
	int repeat = 0;
	if (repeat)
		sleep_for(repeat);
	stopped_ms = now_ms();
	co_yield(); // fault
}

static void poller(void *arg)
{
	int i = (int)(intptr_t)arg;
	for (;; polled[i]++) {
		if (i == 2 && polled[i] == 20)
			back_off();
		sleep_for(5 + i);
	}
}

int main(void)
{
	bool said = false;
	start_all(poller, POLLERS);
	for (;;) {
		tick();
		if (!said && stands_out()) {
			said = true;
			say("ready");
		}
	}
}
