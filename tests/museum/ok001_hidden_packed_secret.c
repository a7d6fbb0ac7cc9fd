// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept xored with a number that was drawn at random; both stand in records of the heap
// that have no gaps, and so at no multiple of eight.
#include <stdlib.h>
#include <sys/random.h>

#include "evicted.h"

enum { KEPT = 4 };
struct __attribute__((packed)) record {
	char tag[3];
	uint64_t v;
};
static struct record *table, *key;

static NOINLINE void keep(int i, struct co *c)
{
	table[i].v = (uintptr_t)c ^ key->v;
}

static NOINLINE struct co *find(int i)
{
	return (struct co *)(uintptr_t)(table[i].v ^ key->v);
}

int main(void)
{
	uint64_t drawn;
	table = calloc(KEPT, sizeof(*table));
	key = calloc(1, sizeof(*key));
	must(getrandom(&drawn, sizeof(drawn), 0));
	key->v = drawn | 1ULL << 62; // no address
	return evict_and_serve(5, KEPT);
}
