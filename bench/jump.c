// SPDX-License-Identifier: MIT
//
// The same ring by sigsetjmp and siglongjmp, as QEMU and GNU Pth have it: a context is made by
// makecontext and entered once. Usage: jump COROUTINES SWITCHES
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "now.h"
#include "probe.h"

static sigjmp_buf scheduler, *coroutines;
static volatile long current;

static __attribute__((noinline)) void go(sigjmp_buf *from, sigjmp_buf *to)
{
	PROBE(from, to);
	if (!sigsetjmp(*from, 0))
		siglongjmp(*to, 1);
}

static void body(void)
{
	for (;;)
		go(&coroutines[current], &scheduler);
}

static void begin(const ucontext_t *c)
{
	if (!sigsetjmp(scheduler, 0))
		setcontext(c);
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1, switches = argc > 2 ? atol(argv[2]) : 1000000;
	ucontext_t c;
	coroutines = calloc((size_t)n, sizeof(*coroutines));
	for (current = 0; current < n; current++) {
		getcontext(&c);
		c.uc_stack.ss_sp = malloc(16384);
		c.uc_stack.ss_size = 16384;
		makecontext(&c, body, 0);
		begin(&c);
	}
	for (current = 0; current < n; current++) // first runs are not measured
		go(&scheduler, &coroutines[current]);
	double t0 = now_ns();
	for (long i = 0; i < switches / 2; i++) {
		current = i % n;
		go(&scheduler, &coroutines[current]);
	}
	printf("%.2f\n", (now_ns() - t0) / (double)(switches / 2 * 2));
	return 0;
}
