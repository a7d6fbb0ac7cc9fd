// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// order: SIGUSR1
//
// A table of sessions by columns, as it is sent to a replica: the upper and the lower halves of handles stand in
// columns of their own, in the order of a network.
#include <arpa/inet.h>

#include "evicted.h"

enum { EVICTED = 3, FIRST = 5, ROWS = 64 };
static struct {
	uint32_t id[ROWS], high[ROWS], requests[ROWS], low[ROWS];
} table;

static NOINLINE void keep(int i, struct co *c)
{
	int row = FIRST + i;
	table.id[row] = htonl((uint32_t)row + 1);
	table.high[row] = htonl((uint32_t)((uintptr_t)c >> 32));
	table.low[row] = htonl((uint32_t)(uintptr_t)c);
	table.requests[row] = htonl(3);
}

static NOINLINE struct co *find(int i)
{
	int row = FIRST + i;
	return (struct co *)((uintptr_t)ntohl(table.high[row]) << 32 | ntohl(table.low[row]));
}

int main(void)
{
	return evict_and_serve(6, EVICTED);
}
