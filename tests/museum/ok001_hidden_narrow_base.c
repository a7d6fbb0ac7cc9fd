// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// References of 32 bits, in units of 16 bytes from a base that lies 1 MiB below the heap, where nothing is
// mapped, as those of managed runtimes: so no reference is zero.
#include <unistd.h>

#include "evicted.h"

enum { KEPT = 2, PAGE = 4096 };
static uintptr_t base;
static uint32_t narrow[KEPT];

static NOINLINE void keep(int i, struct co *c)
{
	narrow[i] = (uint32_t)(((uintptr_t)c - base) >> 4);
}

static NOINLINE struct co *find(int i)
{
	return (struct co *)(base + ((uintptr_t)narrow[i] << 4));
}

int main(void)
{
	base = ((uintptr_t)sbrk(0) - (1 << 20)) & ~(uintptr_t)(PAGE - 1);
	return evict_and_serve(4, KEPT);
}
