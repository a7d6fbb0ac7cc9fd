// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 3 coroutines in 1 finding
// not: history lost, who has ended is read from there
//
// Two requests may be served at a time. Two that are refused return without giving back
// their permits, and three that come later wait for good. Two more clients go on: they
// send nothing but heartbeats, for which nobody needs a permit.
#include "permits.h"

#define CLIENTS 7

static long life_ms;

static void client(void *arg)
{
	int me = (int)(intptr_t)arg;
	long before = now_ms();
	do
		sleep_for(me < 2 ? 5 : 30); // until something is read
	while (me >= 5);
	take_permit();
	if (me >= 2)
		give_permit();
	long took = now_ms() - before;
	life_ms = took > life_ms ? took : life_ms;
}

int main(void)
{
	bool said = false;
	permits = 2;
	co_start(counter, NULL);
	start_all(client, CLIENTS);
	for (;;) {
		tick();
		if (!stopped_ms && permit_waiters == 3)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(life_ms)) {
			said = true;
			say("ready");
		}
	}
}
