// SPDX-License-Identifier: MIT
//
// Threads that signal events of their own for a while, with two integers each, at full speed or so often a
// second (in bursts, one each millisecond): prints the events made, and the seconds it took. Usage: events
// THREADS SECONDS [RATE]; RATE: events a second and thread, 0: full speed. events cost N: what one event
// takes, in ns, least of 50 turns; and a reading of the clock that stamps it.
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <ctp/event.h>

#include "ticks.h"

CTP_EVENT(bench, pair, (long, n), (int, thread));

enum { BURST = 256 };

struct worker {
	int number;
	unsigned long events;
};

static double seconds, rate;

static double now_s(clockid_t clock)
{
	struct timespec t;
	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void signal_some(struct worker *w, long n)
{
	for (long i = 0; i < n; i++)
		ctp_event(bench, pair, i, w->number);
	w->events += (unsigned long)n;
}

static void *work(void *arg)
{
	struct worker *w = arg;
	struct timespec next;
	clock_gettime(CLOCK_MONOTONIC, &next);
	for (double end = now_s(CLOCK_MONOTONIC) + seconds, owed = 0; now_s(CLOCK_MONOTONIC) < end;) {
		if (rate == 0) {
			signal_some(w, BURST);
			continue;
		}
		owed += rate / 1000;
		signal_some(w, (long)owed);
		owed -= (double)(long)owed;
		next.tv_nsec += 1000000;
		next.tv_sec += next.tv_nsec / 1000000000;
		next.tv_nsec %= 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &next, NULL);
	}
	return NULL;
}

static void signal_them(long n)
{
	static struct worker w;
	signal_some(&w, n);
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "cost")) {
		print_cost(signal_them, atol(argv[2]));
		return 0;
	}
	long n = argc > 1 ? atol(argv[1]) : 1;
	seconds = argc > 2 ? atof(argv[2]) : 1;
	rate = argc > 3 ? atof(argv[3]) : 0;
	struct worker *workers = calloc((size_t)n, sizeof(*workers));
	pthread_t *threads = calloc((size_t)n, sizeof(*threads));
	double began = now_s(CLOCK_MONOTONIC);
	for (long i = 0; i < n; i++) {
		workers[i].number = (int)i;
		pthread_create(&threads[i], NULL, work, &workers[i]);
	}
	unsigned long events = 0;
	for (long i = 0; i < n; i++) {
		pthread_join(threads[i], NULL);
		events += workers[i].events;
	}
	printf("%lu %.6f\n", events, now_s(CLOCK_MONOTONIC) - began);
	return 0;
}
