// SPDX-License-Identifier: MIT
//
// ticks.h - for the bench's programs: what something that is recorded with a time costs, beside a reading of the
// clock that stamps it.
#pragma once

#include <stdio.h>
#include <time.h>

#if defined(__x86_64__)
static inline unsigned long ticks(void)
{
	unsigned low, high;
	__asm__ volatile("rdtsc" : "=a"(low), "=d"(high));
	return (unsigned long)high << 32 | low;
}
#else
static inline unsigned long ticks(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC_RAW, &t);
	return (unsigned long)t.tv_nsec;
}
#endif

static inline double cpu_s(void)
{
	struct timespec t;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Prints ns of one of n that `some` makes, and of a reading: the least of 50 turns.
static inline void print_cost(void (*some)(long), long n)
{
	double least[2] = {1, 1};
	volatile unsigned long sink;
	for (int turn = 0; turn < 50; turn++) {
		double begin = cpu_s();
		some(n);
		double middle = cpu_s();
		for (long i = 0; i < n; i++)
			sink = ticks();
		double end = cpu_s();
		least[0] = middle - begin < least[0] ? middle - begin : least[0];
		least[1] = end - middle < least[1] ? end - middle : least[1];
	}
	(void)sink;
	printf("%.3f %.3f\n", least[0] / (double)n * 1e9, least[1] / (double)n * 1e9);
}
