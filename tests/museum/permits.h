// SPDX-License-Identifier: MIT
//
// permits.h - a semaphore of coroutines: who finds no permit left is queued, and takes one when it is resumed.
#pragma once

#include "rhythm.h"

#define PERMITS_STAND_OUT_MS 2500
#define WAITERS 16

static struct co *permit_queue[WAITERS];
static int permits, permit_waiters;

RHYTHM NOINLINE void take_permit(void)
{
	long before = now_ms();
	while (!permits) {
		permit_queue[permit_waiters++] = co_self();
		co_yield (); // fault
	}
	permits--;
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

RHYTHM void give_permit(void)
{
	permits++;
	if (!permit_waiters)
		return;
	struct co *first = permit_queue[0];
	permit_waiters--;
	for (int i = 0; i < permit_waiters; i++)
		permit_queue[i] = permit_queue[i + 1];
	co_resume(first);
}

RHYTHM void counter(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(5);
}

// `longest`: how long one of those that have ended lived, or waited.
RHYTHM bool permits_stand_out(long longest)
{
	long passed = now_ms() - stopped_ms;
	return stopped_ms && passed > PERMITS_STAND_OUT_MS && passed > TIMES_LONGER * longest &&
	       passed > 60 * longest_ms;
}
