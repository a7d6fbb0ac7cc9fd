// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 2 coroutines in 1 finding
// not: history lost, who was resumed is read from there
//
// Three stages of a start wait until the configuration is read. Whoever reads it wakes one of
// them, not all. A coroutine that counts goes on.
#include "rhythm.h"

#define STAGES 3

static struct co *waiting[STAGES];
static int nwaiting, through;
static bool configured;

static NOINLINE void await_configuration(void)
{
	long before = now_ms();
	while (!configured) {
		waiting[nwaiting++] = co_self();
		co_yield (); // fault
	}
	long took = now_ms() - before;
	longest_ms = took > longest_ms ? took : longest_ms;
}

static void stage(void *arg)
{
	(void)arg;
	await_configuration();
	through++;
}

static void reads(void *arg)
{
	(void)arg;
	sleep_for(50);
	configured = true;
	stopped_ms = now_ms();
	co_resume(waiting[--nwaiting]);
}

static void counter(void *arg)
{
	(void)arg;
	for (;;)
		sleep_for(5);
}

int main(void)
{
	bool said = false;
	start_all(stage, STAGES);
	co_start(reads, NULL);
	co_start(counter, NULL);
	for (;;) {
		tick();
		if (!said && through == 1 && stands_out()) {
			said = true;
			say("ready");
		}
	}
}
