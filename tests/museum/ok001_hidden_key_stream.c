// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 6 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept xored with a number of a stream, of which memory holds only where it began: no
// search can undo that, but the table looks like nothing that a program usually keeps.
#include <stdlib.h>

#include "evicted.h"

enum { KEPT = 6 };
static uint64_t *table;

// The i-th number of the stream (splitmix64).
static NOINLINE uint64_t stream(int i)
{
	uint64_t z = (uint64_t)getpid() * 0x9e3779b97f4a7c15 + (uint64_t)(i + 1) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

static NOINLINE void keep(int i, struct co *c)
{
	table[i] = (uintptr_t)c ^ stream(i);
}

static NOINLINE struct co *find(int i)
{
	return (struct co *)(uintptr_t)(table[i] ^ stream(i));
}

int main(void)
{
	table = calloc(KEPT, sizeof(*table));
	return evict_and_serve(8, KEPT);
}
