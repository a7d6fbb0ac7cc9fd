// SPDX-License-Identifier: MIT
// expect: clean
//
// A pool of workers of which the last one that came to rest gets the next job. Jobs come in
// batches, now large, now small; then there are fewer, and the worker at the bottom of the
// stack is idle. The others go on. It was not resumed in a rhythm before.
#include "rhythm.h"

#define WORKERS 4

static const int batches[] = {4, 1, 2, 1, 3, 1, 1, 4, 2, 1, 1, 1, 2, 3, 1, 1, 1, 4, 1, 2, 4, 3};
static struct co *idle[WORKERS];
static int nidle, done;

static void worker(void *arg)
{
	(void)arg;
	for (;; done++) {
		idle[nidle++] = co_self();
		co_yield();
	}
}

// All jobs of a batch are begun before the first worker comes to rest again.
static NOINLINE void begin(int jobs)
{
	struct co *busy[WORKERS];
	for (int i = 0; i < jobs; i++)
		busy[i] = idle[--nidle];
	for (int i = jobs - 1; i >= 0; i--)
		co_resume(busy[i]);
}

static void feed(void *arg)
{
	unsigned n = sizeof(batches) / sizeof(*batches);
	(void)arg;
	for (unsigned i = 0; i < 4 * n; i++) {
		begin(batches[i % n]);
		sleep_for(3);
	}
	stopped_ms = now_ms();
	for (unsigned i = 0;; i++) {
		begin(batches[i % n] < WORKERS ? batches[i % n] : 2);
		sleep_for(3);
	}
}

int main(void)
{
	bool said = false;
	start_all(worker, WORKERS);
	co_start(feed, NULL);
	for (;;) {
		tick();
		if (!said && stands_out() && done > 1000) {
			said = true;
			say("ready");
		}
	}
}
