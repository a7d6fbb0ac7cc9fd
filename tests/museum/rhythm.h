// SPDX-License-Identifier: MIT
//
// rhythm.h - coroutines that sleep for some ticks of a loop, and how long that took at most: who is not resumed
// any more stands out only when it has waited for much longer than that.
#pragma once

#include <poll.h>
#include <time.h>

#include "co.h"
#include "must.h"

#define RHYTHM static __attribute__((unused))
#define TICK_MS 2
#define SLEEPERS 16
#define TIMES_LONGER 12
#define LEAST_MS 1200

static struct sleeper {
	struct co *co;
	int ticks;
} sleepers[SLEEPERS];
static long longest_ms, stopped_ms;

RHYTHM long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

RHYTHM NOINLINE void sleep_for(int ticks)
{
	struct sleeper *s = sleepers;
	long before = now_ms();
	while (s->co)
		s++;
	*s = (struct sleeper){co_self(), ticks};
	co_yield();
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

RHYTHM void tick(void)
{
	poll(NULL, 0, TICK_MS);
	for (struct sleeper *s = sleepers; s < sleepers + SLEEPERS; s++)
		if (s->co && --s->ticks <= 0) {
			struct co *c = s->co;
			s->co = NULL;
			co_resume(c);
		}
}

// All are made at one place, also where a loop is unrolled.
RHYTHM NOINLINE void start_all(co_fn *fn, int n)
{
	for (intptr_t i = 0; i < n; i++) {
		co_start(fn, (void *)i);
		__asm__ volatile("");
	}
}

// Has it been so for long enough to stand out?
RHYTHM bool stands_out(void)
{
	long passed = now_ms() - stopped_ms;
	return stopped_ms && passed > LEAST_MS && passed > TIMES_LONGER * longest_ms;
}
