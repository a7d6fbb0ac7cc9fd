// SPDX-License-Identifier: MIT
//
// N coroutines one after the other, on one stack, each over at once: prints
// `done I` at each tenth, and last `ns` and the time of one in nanoseconds.
// Usage: short COROUTINES
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "now.h"

static ucontext_t scheduler, context;
static char stack[16384];

static void body(void)
{
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1, tenth = n < 10 ? 1 : n / 10;
	double began = now_ns();
	for (long i = 1; i <= n; i++) {
		getcontext(&context);
		context.uc_stack.ss_sp = stack;
		context.uc_stack.ss_size = sizeof(stack);
		context.uc_link = &scheduler;
		makecontext(&context, body, 0);
		swapcontext(&scheduler, &context);
		if (i % tenth == 0) {
			printf("done %ld\n", i);
			fflush(stdout);
		}
	}
	printf("ns %.2f\n", (now_ns() - began) / (double)n);
	return 0;
}
