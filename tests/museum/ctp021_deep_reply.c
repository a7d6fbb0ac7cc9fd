// SPDX-License-Identifier: MIT
// expect: CTP021 proven, 1 coroutine
// engine: both
// end: crash
//
// A reply is written by walking a tree, on a stack from an allocator that counts its
// guard page as part of the stack, as Boost's protected_fixedsize_stack does. The
// tree, built from what a peer sent, is a list in truth: thousands deep.
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STACK_BYTES = 64 << 10, GUARD_BYTES = 4096, NODES = 3000 };

struct node {
	struct node *first, *next;
	int value;
};

static int ep, wake[2];

__attribute__((noinline)) static int write_node(const struct node *n, char *out)
{
	char line[160];
	int bytes = 0;
	memset(line, n->value, sizeof(line));
	for (const struct node *c = n->first; c; c = c->next)
		bytes += write_node(c, line); // fault
	return bytes + (out[0] = line[n->value & 63]);
}

static void writer(void *tree)
{
	char go, out[8] = {0};
	if (co_read(ep, wake[0], &go, 1) == 1)
		exit(write_node(tree, out) == 0);
}

static struct node *peer_sent(void)
{
	struct node *all = must_alloc(NODES * sizeof(*all));
	for (int i = 0; i < NODES; i++)
		all[i] = (struct node){i + 1 < NODES ? &all[i + 1] : NULL, NULL, i};
	return all;
}

int main(void)
{
	static struct co c;
	char *stack = must_map(STACK_BYTES);
	must(mprotect(stack, GUARD_BYTES, PROT_NONE));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", wake);
	co_init(&c, writer, peer_sent(), stack, STACK_BYTES);
	c.pinned = true;
	co_resume(&c);
	say("ready");
	must(write(wake[1], "g", 1));
	co_loop(ep);
}
