// SPDX-License-Identifier: MIT
//
// A program with probes of SystemTap's header, which knows nothing of ctp: with a semaphore and without, from
// coroutines and from threads. It prints how often it has met each.
//
//	t-events-usdt COROUTINES ROUNDS THREADS [nobody]
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <sys/sdt.h>

#include "co.h"

void events_usdt_round(int me, int i); // events_usdt_round.c
extern long asked;

static int rounds;
static long met, worked;
static int number_in_data = 77;

static __attribute__((noinline)) void kinds(int8_t a, uint16_t b, int32_t c, uint64_t d, int64_t e, int64_t f,
					    int64_t g, int64_t in_stack)
{
	STAP_PROBE8(other, kinds, a, b, c, d, e, f, g, in_stack);
}

static void co_main(void *arg)
{
	int me = (int)(intptr_t)arg;
	for (int i = 0; i < rounds; i++) {
		events_usdt_round(me, i);
		met++;
		co_yield();
	}
}

static void *worker(void *arg)
{
	for (int i = 0; i < rounds; i++) {
		STAP_PROBE2(other, worker, (long)(intptr_t)arg, i);
		__atomic_add_fetch(&worked, 1, __ATOMIC_RELAXED);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 3, threads = argc > 3 ? atoi(argv[3]) : 0;
	rounds = argc > 2 ? atoi(argv[2]) : 10;
	if (argc > 4 && (setgid(65534) || setuid(65534)))
		return 2;
	kinds(-5, 65535, -70000, UINT64_MAX, -1, 2, 3, -40);
	STAP_PROBE1(other, data, number_in_data);
	struct co **all = calloc((size_t)n, sizeof(*all));
	for (int i = 0; i < n; i++)
		all[i] = co_new(co_main, (void *)(intptr_t)(i + 1));
	for (int r = 0; r < rounds; r++)
		for (int i = 0; i < n; i++)
			co_resume(all[i]);
	free(all);
	pthread_t t[64];
	for (int i = 0; i < threads; i++)
		if (pthread_create(&t[i], NULL, worker, (void *)(intptr_t)i))
			return 3;
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("round %ld worker %ld asked %ld\n", met, worked, asked);
	return 0;
}
