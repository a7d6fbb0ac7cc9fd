// SPDX-License-Identifier: MIT
// expect: clean
//
// Two queries may be made at a time. Two clients make long ones, and the two others wait for
// them, longer than ever before. All clients were made at one place, and none has ended.
#include "permits.h"

#define CLIENTS 4

static int slow;

static NOINLINE void query(int me, int n)
{
	take_permit();
	if (me < 2 && n == 1)
		slow++;
	do
		sleep_for(2);
	while (me < 2 && n == 1);
	give_permit();
}

static void client(void *arg)
{
	int me = CLIENTS - 1 - (int)(intptr_t)arg; // those that are slow begin last, and have to wait once
	for (int n = 0;; n++) {
		sleep_for(5);
		query(me, n);
	}
}

int main(void)
{
	bool said = false;
	permits = 2;
	start_all(client, CLIENTS);
	for (;;) {
		tick();
		if (!stopped_ms && slow == 2 && permit_waiters == 2)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(0)) {
			said = true;
			say("ready");
		}
	}
}
