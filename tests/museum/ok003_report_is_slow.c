// SPDX-License-Identifier: MIT
// expect: clean
//
// Two licences are shared by those who make reports. Four make short ones, and have waited for
// each other. Two more, made at the same place, never had to wait, and make a long report each,
// while all four wait.
#include "permits.h"

#define CLIENTS 6

static int slow;

static NOINLINE void report(bool is_long)
{
	take_permit();
	do
		sleep_for(2);
	while (is_long);
	give_permit();
}

static void client(void *arg)
{
	int me = (int)(intptr_t)arg;
	sleep_for(me < 2 ? 20 : 5);
	if (me < 2) {
		slow++;
		report(true);
	}
	for (;;) {
		report(false);
		sleep_for(40);
	}
}

int main(void)
{
	bool said = false;
	permits = 2;
	co_start(counter, NULL);
	start_all(client, CLIENTS);
	for (;;) {
		tick();
		if (!stopped_ms && slow == 2 && permit_waiters == 4)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(0)) {
			said = true;
			say("ready");
		}
	}
}
