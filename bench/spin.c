// SPDX-License-Identifier: MIT
//
// Threads that switch for a while, at full speed or so often a second (in bursts,
// one each millisecond): prints the switches made, and the seconds it took.
// Usage: spin THREADS SECONDS [RATE]; RATE: switches a second and thread, 0: full speed.
// With -DFCONTEXT by Boost.Context, which is faster by far.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <ucontext.h>

#include "probe.h"

enum { COROUTINES = 8, STACK_BYTES = 16384, TURNS = 256 };

#ifdef FCONTEXT
struct transfer {
	void *from, *data;
};
void *make_fcontext(void *top, size_t bytes, void (*fn)(struct transfer));
struct transfer jump_fcontext(void *to, void *data);

struct worker {
	void *coroutines[COROUTINES];
	unsigned long switches;
};

static void body(struct transfer t)
{
	for (;;)
		t = jump_fcontext(t.from, NULL);
}

static void make(struct worker *w, int i)
{
	w->coroutines[i] = make_fcontext((char *)malloc(STACK_BYTES) + STACK_BYTES, STACK_BYTES, body);
}

static void turn(struct worker *w, int i)
{
	PROBE(w, w->coroutines[i]);
	w->coroutines[i] = jump_fcontext(w->coroutines[i], NULL).from;
	PROBE(w->coroutines[i], w); // of the way back
}
#else
struct worker {
	ucontext_t scheduler, coroutines[COROUTINES];
	unsigned long switches;
};

static void body(unsigned low, unsigned high, int i)
{
	struct worker *w = (struct worker *)((unsigned long)high << 32 | low);
	for (;;) {
		PROBE(&w->coroutines[i], w);
		swapcontext(&w->coroutines[i], &w->scheduler);
	}
}

static void make(struct worker *w, int i)
{
	ucontext_t *c = &w->coroutines[i];
	getcontext(c);
	c->uc_stack.ss_sp = malloc(STACK_BYTES);
	c->uc_stack.ss_size = STACK_BYTES;
	makecontext(c, (void (*)(void))body, 3, (unsigned)(unsigned long)w, (unsigned)((unsigned long)w >> 32), i);
}

static void turn(struct worker *w, int i)
{
	PROBE(w, &w->coroutines[i]);
	swapcontext(&w->scheduler, &w->coroutines[i]);
}
#endif

static double seconds, rate;

static double now_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void turns(struct worker *w, long n)
{
	for (long i = 0; i < n; i++)
		turn(w, (int)(i % COROUTINES));
	w->switches += 2 * (unsigned long)n;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct timespec next;
	for (int i = 0; i < COROUTINES; i++)
		make(w, i);
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (double end = now_s() + seconds, owed = 0; now_s() < end;) {
		if (rate == 0) {
			turns(w, TURNS);
			continue;
		}
		owed += rate / 1000 / 2;
		turns(w, (long)owed);
		owed -= (double)(long)owed;
		next.tv_nsec += 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;
	seconds = argc > 2 ? atof(argv[2]) : 1;
	rate = argc > 3 ? atof(argv[3]) : 0;
	struct worker *workers = calloc((size_t)n, sizeof(*workers));
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	double began = now_s();
	for (long i = 0; i < n; i++)
		pthread_create(&threads[i], NULL, work, &workers[i]);
	unsigned long switches = 0;
	for (long i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		switches += workers[i].switches;
	}
	printf("%lu %.6f\n", switches, now_s() - began);
	return 0;
}
