// SPDX-License-Identifier: MIT
// expect: CTP015 suspect..likely, 2 coroutines in 1 finding
// end: kill
//
// A store on coroutines, whose loop ticks every two milliseconds: it never comes to rest. An
// insert takes the lock of the data, and then that of the index; a compaction takes them the
// other way round. A third coroutine goes on all the time, as servers do. It ends by SIGKILL,
// so what is known of it is what was seen while it ran.
#include <poll.h>

#include "locks.h"

#define TICK_MS 2

static struct fiber_mutex index_lock, data_lock;
static struct sleeper {
	struct co *co;
	int ticks;
} sleepers[8];
static int rows, inserted, synced;

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
	for (struct sleeper *s = sleepers; s < sleepers + 8; s++)
		if (s->co && --s->ticks <= 0) {
			struct co *c = s->co;
			s->co = NULL;
			co_resume(c);
		}
	run_queue();
}

static void insert(void *arg)
{
	(void)arg;
	for (;;) {
		fiber_lock(&data_lock);
		sleep_for(1);
		fiber_lock(&index_lock); // fault
		rows++;
		fiber_unlock(&index_lock);
		fiber_unlock(&data_lock);
		inserted++;
		sleep_for(3);
	}
}

static void compact(void *arg)
{
	(void)arg;
	while (inserted < 5)
		sleep_for(1);
	fiber_lock(&index_lock);
	sleep_for(5);
	fiber_lock(&data_lock);
	rows = 0;
	fiber_unlock(&data_lock);
	fiber_unlock(&index_lock);
}

static void sync_all(void *arg)
{
	(void)arg;
	for (;; synced++) {
		sleep_for(20);
		if (synced == 2)
			say("ready");
	}
}

int main(void)
{
	co_start(insert, NULL);
	co_start(compact, NULL);
	co_start(sync_all, NULL);
	for (;;) {
		poll(NULL, 0, TICK_MS);
		tick();
	}
}
