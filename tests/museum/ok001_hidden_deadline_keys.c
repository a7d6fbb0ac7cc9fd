// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 5 coroutines
// order: SIGUSR1
//
// Keys of a deadline queue: 20 bits of a tick, and below them the waiter's address
// without the four bits that are always zero. One comparison orders both.
#include "ordered.h"

#define WAITERS 5

struct queue {
	uint64_t keys[16]; // sorted
	int n;
};

static struct queue *queue;
static int ep, sockets[WAITERS];

static NOINLINE void insert(uint64_t tick, struct co *c)
{
	uint64_t key = tick << 44 | (uintptr_t)c >> 4;
	int i = queue->n++;
	for (; i > 0 && queue->keys[i - 1] > key; i--)
		queue->keys[i] = queue->keys[i - 1];
	queue->keys[i] = key;
}

static NOINLINE struct co *waiter_of(uint64_t key)
{
	return (struct co *)(uintptr_t)((key & ((1ull << 44) - 1)) << 4);
}

static void waiter(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void admit(int i)
{
	int fds[2];
	pair("tcp", fds);
	sockets[i] = fds[0];
	struct co *c = co_new(waiter, (void *)(intptr_t)fds[0]);
	insert(0xa5000u + 37u * (unsigned)i % 11, c);
	co_resume(c);
	must(write(fds[1], "more", 4));
	co_turn(ep, -1);
}

static NOINLINE void close_sockets(void)
{
	for (int i = 0; i < WAITERS; i++)
		close(sockets[i]); // fault
}

static NOINLINE void expire(int i)
{
	co_resume(waiter_of(queue->keys[i]));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_kind = CO_HEAP;
	take_orders(SIGUSR1);
	queue = must_alloc(sizeof(*queue));
	for (int i = 0; i < WAITERS; i++)
		admit(i);
	close_sockets();
	serve_until_ordered(ep);
	for (int i = 0; i < WAITERS; i++)
		expire(i);
	return all_resumed(WAITERS);
}
