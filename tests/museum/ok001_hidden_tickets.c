// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted gets a ticket: its address multiplied by an odd number, to which another is added, or
// with which it is xored; as a word, or as text. The numbers are in the program's code, or drawn at its start.
#include <stdio.h>
#include <time.h>

#include "evicted.h"

enum { TICKETS = 4 };
static uint64_t drawn, tickets[TICKETS];
static char as_text[TICKETS][20];

static uint64_t factor(int i)
{
	return i % 2 ? drawn : 0x9e3779b97f4a7c15;
}

static uint64_t inverse(uint64_t odd)
{
	uint64_t x = odd;
	for (int i = 0; i < 5; i++)
		x *= 2 - odd * x;
	return x;
}

static void keep(int i, struct co *c)
{
	uint64_t product = (uint64_t)(uintptr_t)c * factor(i);
	if (i == 2)
		snprintf(as_text[i], sizeof(as_text[i]), "%016llx", (unsigned long long)(product ^ 0xd6e8feb86659fd93));
	else
		tickets[i] = i == 3 ? product + 0xa0761d6478bd642f : product;
}

static struct co *find(int i)
{
	uint64_t ticket = i == 2 ? strtoull(as_text[i], NULL, 16) ^ 0xd6e8feb86659fd93 :
			  i == 3 ? tickets[i] - 0xa0761d6478bd642f :
				   tickets[i];
	return (struct co *)(uintptr_t)(ticket * inverse(factor(i)));
}

int main(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_MONOTONIC, &t));
	drawn = ((uint64_t)t.tv_nsec * 0xbf58476d1ce4e5b9 ^ 0x94d049bb133111eb) | 1;
	return evict_and_serve(5, TICKETS);
}
