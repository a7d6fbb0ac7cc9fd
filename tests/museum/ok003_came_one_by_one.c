// SPDX-License-Identifier: MIT
// expect: clean
//
// Subscribers come one after the other, and wait for what concerns them. The first gets it soon, and
// ends; for the others there is nothing yet. A coroutine that counts goes on.
#include "rhythm.h"

#define SUBSCRIBERS 3

static struct co *waiting[SUBSCRIBERS];
static int served;

static NOINLINE void await_news(int me)
{
	long before = now_ms();
	waiting[me] = co_self();
	co_yield ();
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

static void subscriber(void *arg)
{
	await_news((int)(intptr_t)arg);
	served++;
}

static void counter(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(5);
}

static NOINLINE void subscribe(intptr_t me)
{
	co_start(subscriber, (void *)me);
	__asm__ volatile("");
}

int main(void)
{
	bool said = false;
	co_start(counter, NULL);
	for (int turn = 0;; turn++) {
		tick();
		if (turn % 8 == 0 && turn / 8 < SUBSCRIBERS)
			subscribe(turn / 8);
		if (turn == 4 * SUBSCRIBERS + 8) {
			co_resume(waiting[0]);
			stopped_ms = now_ms();
		}
		if (!said && turn / 8 > SUBSCRIBERS && stands_out()) {
			said = true;
			say("ready");
		}
	}
}
