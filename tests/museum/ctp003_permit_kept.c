// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 2 coroutines in 1 finding
// not: history lost, who gave to whom is read from there
//
// Two queries may be made at a time. Two clients' queries are refused, and return without
// giving back their permits; both clients live on, and send nothing but heartbeats. The
// two others wait for a permit for good.
#include "permits.h"

#define CLIENTS 4

static int refused;

static NOINLINE bool query(int me, int n)
{
	take_permit();
	if (me < 2 && n == 1) {
		refused++;
		return false; // it keeps the permit
	}
	sleep_for(2);
	give_permit();
	return true;
}

static void client(void *arg)
{
	int me = CLIENTS - 1 - (int)(intptr_t)arg; // those of the fault begin last, and have to wait once
	bool asks = true;
	for (int n = 0;; n++) {
		sleep_for(5);
		if (asks)
			asks = query(me, n);
	}
}

int main(void)
{
	bool said = false;
	permits = 2;
	start_all(client, CLIENTS);
	for (;;) {
		tick();
		if (!stopped_ms && refused == 2 && permit_waiters == 2)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(0)) {
			said = true;
			say("ready");
		}
	}
}
