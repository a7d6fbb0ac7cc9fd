// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept in a bit field, without the four zeros at its end, between a kind and a
// generation.
#include "evicted.h"

enum { KEPT = 4 };
static struct slot {
	uint64_t kind : 7, co : 44, generation : 13;
} table[KEPT];

static NOINLINE void keep(int i, struct co *c)
{
	table[i] = (struct slot){.kind = 5, .co = (uintptr_t)c >> 4, .generation = 1000 + (unsigned)i};
}

static NOINLINE struct co *find(int i)
{
	return (struct co *)((uintptr_t)table[i].co << 4);
}

int main(void)
{
	return evict_and_serve(6, KEPT);
}
