// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// order: SIGUSR1
//
// Whoever is evicted stands alone in a list whose links are both neighbours' addresses, xored, between its two
// ends, which are static.
#include "evicted.h"

enum { KEPT = 2 };
static struct list {
	uintptr_t first, last;
} lists[KEPT];

static NOINLINE void keep(int i, struct co *c)
{
	lists[i].first = (uintptr_t)&lists[i].last ^ (uintptr_t)c;
	lists[i].last = (uintptr_t)c ^ (uintptr_t)&lists[i].first;
}

static NOINLINE struct co *find(int i)
{
	return (struct co *)(lists[i].first ^ (uintptr_t)&lists[i].last);
}

int main(void)
{
	return evict_and_serve(4, KEPT);
}
