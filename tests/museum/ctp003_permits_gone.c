// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 3 coroutines in 1 finding
// not: history lost, who has ended is read from there
//
// Two requests may be served at a time. Two that are refused return without giving back
// their permits; nobody had to wait so far. Three that come later wait for good, while a
// coroutine that counts goes on.
#include "permits.h"

#define REQUESTS 5

static long life_ms;

static void request(void *arg)
{
	bool refused = (intptr_t)arg < 2;
	long before = now_ms();
	sleep_for(refused ? 5 : 30); // until it is read
	take_permit();
	if (!refused)
		give_permit();
	long took = now_ms() - before;
	life_ms = took > life_ms ? took : life_ms;
}

int main(void)
{
	bool said = false;
	permits = 2;
	co_start(counter, NULL);
	start_all(request, REQUESTS);
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
