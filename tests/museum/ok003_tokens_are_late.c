// SPDX-License-Identifier: MIT
// expect: clean
//
// A limit of two requests a round: the loop hands out tokens for the next round when nobody
// runs, and nobody gives one back. Then the service is told to rest, and all that ask wait for
// the next round. Another client does not ask. They wait, but nobody keeps what they wait for.
#include "permits.h"

#define CLIENTS 4
#define ROUNDS 3

static NOINLINE void request(void)
{
	take_permit();
	sleep_for(2);
}

static void client(void *arg)
{
	bool asks = (int)(intptr_t)arg > 0;
	for (;;) {
		sleep_for(5);
		if (asks)
			request();
	}
}

// Everybody sleeps, or waits: when nobody has run for two milliseconds.
static void next_round(void)
{
	poll(NULL, 0, TICK_MS);
	for (int i = 0; i < 2; i++)
		give_permit();
}

int main(void)
{
	bool said = false;
	permits = 2;
	start_all(client, CLIENTS);
	for (int rounds = 0;;) {
		tick();
		if (permit_waiters == CLIENTS - 1 && rounds < ROUNDS) {
			next_round();
			rounds++;
		} else if (!stopped_ms && permit_waiters == CLIENTS - 1) {
			stopped_ms = now_ms();
		}
		if (!said && permits_stand_out(0)) {
			said = true;
			say("ready");
		}
	}
}
