// SPDX-License-Identifier: MIT
//
// clocked.c - two coroutines that switch at full speed and note when, for a comparison with the times that
// are recorded:
//   t-clocked SWITCHES EACH SPIN_US FILE
// Every EACH-th slice lasts SPIN_US. FILE: for each switch, CLOCK_MONOTONIC ns before it and after it.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "must.h"

enum { STACK = 64 << 10 };

static ucontext_t contexts[2], of_main;
static long switches, each, spin_ns, done;
static uint64_t (*at)[2];

static uint64_t now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void run(int self)
{
	for (;;) {
		if (done && done <= switches)
			at[done - 1][1] = now();
		if (done >= switches)
			swapcontext(&contexts[self], &of_main);
		if (done % each == each - 1)
			for (uint64_t until = now() + (uint64_t)spin_ns; now() < until;)
				;
		at[done++][0] = now();
		swapcontext(&contexts[self], &contexts[!self]);
	}
}

int main(int argc, char **argv)
{
	static char stacks[2][STACK];
	must(argc == 5 ? 0 : -1);
	switches = atol(argv[1]);
	each = atol(argv[2]);
	spin_ns = atol(argv[3]) * 1000;
	at = must_alloc(((size_t)switches + 1) * sizeof(*at));
	for (int i = 0; i < 2; i++) {
		must(getcontext(&contexts[i]));
		contexts[i].uc_stack.ss_sp = stacks[i];
		contexts[i].uc_stack.ss_size = STACK;
		makecontext(&contexts[i], (void (*)(void))run, 1, i);
	}
	must(swapcontext(&of_main, &contexts[0]));
	FILE *f = fopen(argv[4], "w");
	must(f ? 0 : -1);
	for (long i = 0; i < switches; i++)
		fprintf(f, "%llu %llu\n", (unsigned long long)at[i][0], (unsigned long long)at[i][1]);
	must(fclose(f));
	return 0;
}
