// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// Whoever is evicted is a number of an unlinked file, in the order of a network.
#include <endian.h>
#include <fcntl.h>
#include <stdlib.h>

#include "evicted.h"

enum { KEPT = 4 };
static int spool;

static NOINLINE void keep(int i, struct co *c)
{
	uint64_t v = htobe64((uintptr_t)c);
	must(pwrite(spool, &v, sizeof(v), (off_t)sizeof(v) * i));
}

static NOINLINE struct co *find(int i)
{
	uint64_t v;
	must(pread(spool, &v, sizeof(v), (off_t)sizeof(v) * i));
	return (struct co *)(uintptr_t)be64toh(v);
}

int main(void)
{
	char name[] = "spool-XXXXXX";
	spool = (int)must(mkstemp(name));
	must(unlink(name));
	return evict_and_serve(6, KEPT);
}
