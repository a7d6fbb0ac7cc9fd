// SPDX-License-Identifier: MIT
// expect: clean
//
// A burst of jobs starts five workers. When a job is done, its worker is kept for the next
// one, but no more than two are kept: the others end. There is no more work, and a
// coroutine that counts goes on.
#include "permits.h"

#define JOBS 5
#define KEPT 2

static struct co *idle[KEPT];
static int nidle, over;
static long life_ms;

static NOINLINE void await_job(void)
{
	idle[nidle++] = co_self();
	co_yield ();
}

static void worker(void *arg)
{
	long before = now_ms();
	sleep_for(4 + 4 * (int)(intptr_t)arg);
	while (nidle < KEPT)
		await_job();
	over++;
	long took = now_ms() - before;
	life_ms = took > life_ms ? took : life_ms;
}

int main(void)
{
	bool said = false;
	co_start(counter, NULL);
	start_all(worker, JOBS);
	for (;;) {
		tick();
		if (!stopped_ms && over == JOBS - KEPT)
			stopped_ms = now_ms();
		if (!said && permits_stand_out(life_ms)) {
			said = true;
			say("ready");
		}
	}
}
