// SPDX-License-Identifier: MIT
// expect: clean
//
// Workers wait for jobs, and each works on one for some ticks. Three jobs come at a time: one worker
// is woken, and whoever takes a job wakes another while there is more. Then no more jobs come, and
// all of them are idle. The one who fed them goes on.
#include "rhythm.h"

#define WORKERS 3
#define JOBS 120

static struct co *idle[WORKERS];
static int nidle, jobs, done;

static NOINLINE void wake(void)
{
	if (jobs && nidle)
		co_resume(idle[--nidle]);
}

static NOINLINE void await_job(void)
{
	long before = now_ms();
	while (!jobs) {
		idle[nidle++] = co_self();
		co_yield ();
	}
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
	jobs--;
}

static void worker(void *arg)
{
	int pause = 2 + (int)(intptr_t)arg;
	for (;; done++) {
		await_job();
		wake();
		sleep_for(pause);
	}
}

static void feed(void *arg)
{
	(void)arg;
	for (int i = 0; i < JOBS; i += WORKERS) {
		jobs += WORKERS;
		wake();
		sleep_for(8);
	}
	stopped_ms = now_ms();
	for (;;)
		sleep_for(5);
}

int main(void)
{
	bool said = false;
	start_all(worker, WORKERS);
	co_start(feed, NULL);
	for (;;) {
		tick();
		if (!said && done == JOBS && nidle == WORKERS && stands_out()) {
			said = true;
			say("ready");
		}
	}
}
