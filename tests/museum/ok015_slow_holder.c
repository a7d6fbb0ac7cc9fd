// SPDX-License-Identifier: MIT
// expect: clean
//
// Two locks that all take in the same order. Who has both is slow: it works in steps, while a
// loop that ticks every two milliseconds goes on. The others are queued at both, those at the
// second lock hold the first one. They have all had their turn before, and will again.
#include <poll.h>

#include "locks.h"

#define TICK_MS 2
#define WORKERS 4

static struct fiber_mutex tables, log_lock;
static struct sleeper {
	struct co *co;
	int ticks;
} sleepers[WORKERS + 1];
static int written, beats;

static NOINLINE void sleep_for(int ticks)
{
	struct sleeper *s = sleepers;
	while (s->co)
		s++;
	*s = (struct sleeper){co_self(), ticks};
	co_yield();
}

static void tick(void)
{
	for (struct sleeper *s = sleepers; s <= sleepers + WORKERS; s++)
		if (s->co && --s->ticks <= 0) {
			struct co *c = s->co;
			s->co = NULL;
			co_resume(c);
		}
	run_queue();
}

static NOINLINE void write_slowly(int steps)
{
	for (int i = 0; i < steps; i++)
		sleep_for(1);
	written++;
}

static void worker(void *arg)
{
	bool logs = (intptr_t)arg % 2;
	for (;;) {
		int steps = written < 3 * WORKERS ? 1 : 1 << 30; // a long one at last
		if (!logs) {
			fiber_lock(&tables);
			sleep_for(1);
		}
		fiber_lock(&log_lock);
		write_slowly(steps);
		fiber_unlock(&log_lock);
		if (!logs)
			fiber_unlock(&tables);
		sleep_for(1);
	}
}

static void beat(void *arg)
{
	(void)arg;
	for (;;) {
		sleep_for(10);
		if (written >= 3 * WORKERS && ++beats == 3)
			say("ready");
	}
}

int main(void)
{
	for (intptr_t i = 0; i < WORKERS; i++)
		co_start(worker, (void *)i);
	co_start(beat, NULL);
	for (;;) {
		poll(NULL, 0, TICK_MS);
		tick();
	}
}
