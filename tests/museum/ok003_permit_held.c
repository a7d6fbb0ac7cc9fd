// SPDX-License-Identifier: MIT
// expect: clean
//
// Two requests may be served at a time. Two have been, and have ended; two long ones have
// the permits now, and three wait for them. All were made at one place.
#include "permits.h"

#define REQUESTS 7

static long life_ms;

static void request(void *arg)
{
	int me = (int)(intptr_t)arg;
	long before = now_ms();
	sleep_for(me < 2 ? 5 : me < 4 ? 20 : 30);
	take_permit();
	while (me == 2 || me == 3)
		sleep_for(10);
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
