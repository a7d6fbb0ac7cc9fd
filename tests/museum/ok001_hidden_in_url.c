// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is kept as a query that has each byte of its address encoded ("%e0%a4"), as a URL has.
#include <stdio.h>

#include "evicted.h"

enum { KEPT = 4, BYTES = sizeof(void *) };
static char table[KEPT][3 * BYTES + 8];

static NOINLINE void keep(int i, struct co *c)
{
	char *to = table[i] + sprintf(table[i], "?h=");
	for (unsigned k = 0; k < BYTES; k++)
		to += sprintf(to, "%%%02x", (unsigned)((uintptr_t)c >> 8 * k & 0xff));
}

static NOINLINE struct co *find(int i)
{
	uintptr_t c = 0;
	for (unsigned k = 0; k < BYTES; k++) {
		unsigned byte;
		must(sscanf(table[i] + 3 + 3 * k, "%%%2x", &byte) == 1 ? 0 : -1);
		c |= (uintptr_t)byte << 8 * k;
	}
	return (struct co *)c;
}

int main(void)
{
	return evict_and_serve(6, KEPT);
}
