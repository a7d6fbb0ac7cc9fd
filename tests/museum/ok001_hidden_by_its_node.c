// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines
// order: SIGUSR1
//
// A list of the evicted whose nodes hold them xored with the node's own address, as those of a hardened list do.
#include <stdlib.h>

#include "evicted.h"

enum { KEPT = 2 };
static struct node {
	long since;
	uintptr_t who;
	struct node *next;
} *list;

static NOINLINE void keep(int i, struct co *c)
{
	struct node *n = malloc(sizeof(*n));
	n->since = i;
	n->who = (uintptr_t)c ^ (uintptr_t)n;
	n->next = list;
	list = n;
}

static NOINLINE struct co *find(int i)
{
	struct node *n = list;
	while (n->since != i)
		n = n->next;
	return (struct co *)(n->who ^ (uintptr_t)n);
}

int main(void)
{
	return evict_and_serve(4, KEPT);
}
