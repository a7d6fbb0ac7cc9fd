// SPDX-License-Identifier: MIT
//
// N coroutines in a ring, switched to in turn by one scheduler: prints the time
// of a switch in nanoseconds. Usage: switch COROUTINES SWITCHES
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "now.h"
#include "probe.h"

static ucontext_t scheduler, *contexts;
static volatile long current;

GO_KIND void go(ucontext_t *from, ucontext_t *to)
{
	PROBE(from, to);
	swapcontext(from, to);
}

static void body(void)
{
	for (;;)
		go(&contexts[current], &scheduler);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1, switches = argc > 2 ? atol(argv[2]) : 1000000;
	contexts = calloc((size_t)n, sizeof(*contexts));
	for (long i = 0; i < n; i++) {
		getcontext(&contexts[i]);
		contexts[i].uc_stack.ss_sp = malloc(16384);
		contexts[i].uc_stack.ss_size = 16384;
		makecontext(&contexts[i], body, 0);
	}
	for (current = 0; current < n; current++) // first runs are not measured
		go(&scheduler, &contexts[current]);
	double t0 = now_ns();
	for (long i = 0; i < switches / 2; i++) {
		current = i % n;
		go(&scheduler, &contexts[current]);
	}
	printf("%.2f\n", (now_ns() - t0) / (double)(switches / 2 * 2));
	return 0;
}
