// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept as a number whose bits are in another order: all reversed, rotated, those of each
// byte reversed, and in Gray code.
#include "evicted.h"

enum { KEPT = 4, TURN = 23 };
static uint64_t numbers[KEPT];

static uint64_t reversed(uint64_t v, unsigned of)
{
	uint64_t to = 0;
	for (unsigned i = 0; i < 64; i++)
		to |= (v >> i & 1) << (i / of * of + of - 1 - i % of);
	return to;
}

static NOINLINE void keep(int i, struct co *c)
{
	uint64_t v = (uintptr_t)c;
	numbers[i] = i == 0 ? reversed(v, 64) : i == 1 ? v << TURN | v >> (64 - TURN) : i == 2 ? reversed(v, 8) : v ^ v >> 1;
}

static NOINLINE struct co *find(int i)
{
	uint64_t v = numbers[i];
	if (i == 3)
		for (unsigned k = 1; k < 64; k *= 2)
			v ^= v >> k;
	else
		v = i == 0 ? reversed(v, 64) : i == 1 ? v >> TURN | v << (64 - TURN) : reversed(v, 8);
	return (struct co *)(uintptr_t)v;
}

int main(void)
{
	return evict_and_serve(5, KEPT);
}
