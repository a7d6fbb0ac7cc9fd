// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// The evicted are a set of numbers in containers of 16 bits: the upper bits are a container's key, the lower ones
// stand in its array.
#include <stdlib.h>

#include "evicted.h"

enum { EVICTED = 3, MOST = 8, UNIT = 16 };
static struct container {
	uint32_t key, n;
	uint16_t v[MOST];
} *set[EVICTED];

static NOINLINE void keep(int i, struct co *c)
{
	uint64_t number = (uintptr_t)c / UNIT;
	set[i] = calloc(1, sizeof(*set[i]));
	set[i]->key = (uint32_t)(number >> 16);
	set[i]->v[set[i]->n++] = (uint16_t)number;
}

static NOINLINE struct co *find(int i)
{
	return (struct co *)(((uint64_t)set[i]->key << 16 | set[i]->v[0]) * UNIT);
}

int main(void)
{
	return evict_and_serve(6, EVICTED);
}
