// SPDX-License-Identifier: MIT
//
// Prints the time at which main began, makes one coroutine and runs it, and prints
// the time at which main ends (CLOCK_MONOTONIC, ns): how long the way in and out is.
#include <stdio.h>
#include <time.h>
#include <ucontext.h>

static ucontext_t scheduler, context;
static char stack[16384];

static void body(void)
{
}

static long now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

int main(void)
{
	long began = now_ns();
	getcontext(&context);
	context.uc_stack.ss_sp = stack;
	context.uc_stack.ss_size = sizeof(stack);
	context.uc_link = &scheduler;
	makecontext(&context, body, 0);
	swapcontext(&scheduler, &context);
	printf("%ld ", began);
	printf("%ld\n", now_ns());
	return 0;
}
