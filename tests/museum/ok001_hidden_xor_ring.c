// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// Those who wait are in a ring of nodes with one link, the addresses before and after xored, as kernels and
// games keep long lists. Its head is static; where the first one lies is kept as a distance from that.
#include <stdlib.h>

#include "evicted.h"

enum { KEPT = 3 };
struct node {
	struct co *who;
	long since;
	uintptr_t both;
} *nodes[KEPT];
static uintptr_t head;
static int32_t first; // in units of 16 bytes

static NOINLINE uintptr_t link_of(int i)
{
	return i == KEPT || i < 0 ? (uintptr_t)&head : (uintptr_t)&nodes[i]->both;
}

static NOINLINE void close_ring(void)
{
	head = link_of(KEPT - 1) ^ link_of(0);
	for (int i = 0; i < KEPT; i++)
		nodes[i]->both = link_of(i - 1) ^ link_of(i + 1);
	first = (int32_t)((intptr_t)(link_of(0) - (uintptr_t)&head) / 16);
	for (int i = 0; i < KEPT; i++)
		nodes[i] = NULL;
}

static NOINLINE void keep(int i, struct co *c)
{
	nodes[i] = malloc(sizeof(**nodes));
	nodes[i]->who = c;
	nodes[i]->since = i;
	if (i == KEPT - 1)
		close_ring();
}

static NOINLINE struct co *find(int i)
{
	uintptr_t before = (uintptr_t)&head, at = before + (uintptr_t)((intptr_t)first * 16);
	while (i--) {
		uintptr_t next = *(uintptr_t *)at ^ before;
		before = at;
		at = next;
	}
	return ((struct node *)(at - offsetof(struct node, both)))->who;
}

int main(void)
{
	return evict_and_serve(4, KEPT);
}
