// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// Compressed references with a shift: blocks are aligned to 16 bytes, so 32 bits
// of a block's number reach over 64 GiB. Each node of a skip list has its
// waiter as such a number; the upper bits are those of the list's own block.
#include "ordered.h"

#define LEVELS 3
#define NODES 3
#define ALIGN_SHIFT 4
#define WINDOW (1ull << (32 + ALIGN_SHIFT))

struct node {
	struct node *next[LEVELS];
	uint32_t key;
	uint32_t waiter; // address >> 4, lower 32 bits
	int fd;
};

static struct node *list;
static int ep;

static NOINLINE uint32_t compress(const struct co *c)
{
	return (uint32_t)((uintptr_t)c >> ALIGN_SHIFT);
}

static NOINLINE struct co *decompress(uint32_t n)
{
	return (struct co *)(((uintptr_t)list & ~(WINDOW - 1)) | (uintptr_t)n << ALIGN_SHIFT);
}

static NOINLINE struct node *insert(uint32_t key, int levels)
{
	struct node *n = must_alloc(sizeof(*n)), *at = list;
	n->key = key;
	for (int level = LEVELS - 1; level >= 0; level--) {
		while (at->next[level] && at->next[level]->key < key)
			at = at->next[level];
		if (level < levels) {
			n->next[level] = at->next[level];
			at->next[level] = n;
		}
	}
	return n;
}

static void await(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void add_waiter(uint32_t key, int levels)
{
	struct node *n = insert(key, levels);
	int fds[2];
	pair("tcp", fds);
	n->fd = fds[0];
	struct co *c = co_new(await, (void *)(intptr_t)fds[0]);
	n->waiter = compress(c);
	must(decompress(n->waiter) == c ? 0 : -1);
	co_resume(c);
	must(write(fds[1], "more", 4));
	co_turn(ep, -1);
}

static NOINLINE void close_range_of(uint32_t low, uint32_t high)
{
	for (struct node *n = list->next[0]; n; n = n->next[0])
		if (n->key >= low && n->key < high)
			close(n->fd); // fault
}

static NOINLINE void visit(void)
{
	for (struct node *n = list->next[0]; n; n = n->next[0])
		co_resume(decompress(n->waiter));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_kind = CO_HEAP;
	take_orders(SIGUSR1);
	list = must_alloc(sizeof(*list));
	add_waiter(50, 2);
	add_waiter(20, 1);
	add_waiter(70, 3);
	close_range_of(0, 100);
	serve_until_ordered(ep);
	visit();
	return all_resumed(NODES);
}
