// SPDX-License-Identifier: MIT
//
// records.c - records THREADS SWITCHES: each thread runs three coroutines of its own in turn, once each.
// Says "ready", waits for a line, makes its switches (rounded up to the next even number), says "done",
// waits for another line, runs each once more, and ends. So whoever looks on can be held up meanwhile.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "co.h"
#include "must.h"

enum { COROUTINES = 3, STACK = 65536 };

struct ring {
	ucontext_t scheduler, uc[COROUTINES];
	int now;
	pthread_t thread;
};

static long switches;
static pthread_barrier_t gate;

static void body(unsigned lo, unsigned hi)
{
	struct ring *r = (struct ring *)((uintptr_t)lo | (uintptr_t)hi << 32);
	for (;;)
		must(swapcontext(&r->uc[r->now], &r->scheduler));
}

static void turn(struct ring *r, long n)
{
	for (long i = 0; i < n; i += 2) {
		r->now = (int)(i / 2 % COROUTINES);
		must(swapcontext(&r->scheduler, &r->uc[r->now]));
	}
}

static void *work(void *arg)
{
	struct ring *r = arg;
	for (int i = 0; i < COROUTINES; i++) {
		must(getcontext(&r->uc[i]));
		r->uc[i].uc_stack.ss_sp = malloc(STACK);
		r->uc[i].uc_stack.ss_size = STACK;
		makecontext(&r->uc[i], (void (*)(void))body, 2, (unsigned)(uintptr_t)r, (unsigned)((uintptr_t)r >> 32));
	}
	turn(r, 2 * COROUTINES);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	turn(r, switches);
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	turn(r, 2 * COROUTINES);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	switches = argc > 2 ? atol(argv[2]) : 1000;
	struct ring *rings = calloc((size_t)threads, sizeof(*rings));
	pthread_barrier_init(&gate, NULL, (unsigned)threads + 1);
	for (int i = 0; i < threads; i++)
		must(-pthread_create(&rings[i].thread, NULL, work, &rings[i]));
	pthread_barrier_wait(&gate);
	puts("ready");
	fflush(stdout);
	getchar();
	pthread_barrier_wait(&gate);
	pthread_barrier_wait(&gate);
	puts("done");
	fflush(stdout);
	getchar();
	pthread_barrier_wait(&gate);
	for (int i = 0; i < threads; i++)
		pthread_join(rings[i].thread, NULL);
	printf("coroutines %d switches %ld\n", threads * COROUTINES, threads * (4 * COROUTINES + (switches + 1) / 2 * 2));
	return 0;
}
