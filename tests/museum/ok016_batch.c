// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A batch program: coroutines that compute one after the other. There is no
// loop, and nobody whom a long slice could starve.
#include <time.h>

#include "co.h"
#include "must.h"

static volatile unsigned long sum;

static unsigned long cpu_ms(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (unsigned long)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static void stage(void *arg)
{
	(void)arg;
	for (unsigned long end = cpu_ms() + 200; cpu_ms() < end;)
		for (unsigned i = 0; i < 100000; i++)
			sum = sum * 31 + i;
	co_yield();
}

int main(void)
{
	struct co *all[3];
	for (int i = 0; i < 3; i++)
		all[i] = co_new(stage, NULL);
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < 3; i++)
			co_resume(all[i]);
	say("done");
}
