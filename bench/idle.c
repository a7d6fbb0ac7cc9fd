// SPDX-License-Identifier: MIT
//
// N coroutines that have run and are suspended, all alive: prints `ready` and the
// seconds it took to make them, and stays until its input ends. Usage: idle COROUTINES
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

enum { STACK_BYTES = 16384 };

static ucontext_t scheduler, *contexts;
static long current;

static void body(void)
{
	swapcontext(&contexts[current], &scheduler);
}

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	double began = now_s();
	contexts = calloc((size_t)n, sizeof(*contexts));
	for (current = 0; current < n; current++) {
		ucontext_t *c = &contexts[current];
		getcontext(c);
		c->uc_stack.ss_sp = malloc(STACK_BYTES);
		c->uc_stack.ss_size = STACK_BYTES;
		c->uc_link = &scheduler;
		makecontext(c, body, 0);
		swapcontext(&scheduler, c);
	}
	printf("ready %.6f\n", now_s() - began);
	fflush(stdout);
	char byte;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
