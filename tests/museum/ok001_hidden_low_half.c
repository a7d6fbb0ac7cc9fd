// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// All blocks of the program's heap have the same upper half of their address, so
// its queues keep the lower one only. The upper half comes from any block at
// hand. Descriptor and waiter share a word.
#include "ordered.h"

#define WAITERS 4

struct entry {
	uint16_t fd, events;
	uint32_t waiter;
};

struct queue {
	uint32_t head, n;
	struct entry entries[29];
};

static struct queue *queue;
static int ep;

static NOINLINE struct co *expand(uint32_t low)
{
	return (struct co *)(((uintptr_t)queue & ~0xffffffffull) | low);
}

static NOINLINE void enqueue(int fd, struct co *c)
{
	struct entry *e = &queue->entries[(queue->head + queue->n++) % 29];
	e->fd = (uint16_t)fd;
	e->events = EPOLLIN;
	e->waiter = (uint32_t)(uintptr_t)c;
	must(expand(e->waiter) == c ? 0 : -1); // one heap of less than 4 GiB, and within one such step
}

static NOINLINE struct entry dequeue(void)
{
	struct entry e = queue->entries[queue->head];
	queue->head = (queue->head + 1) % 29;
	queue->n--;
	return e;
}

static void waiter(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void begin(const char *kind)
{
	int fds[2];
	pair(kind, fds);
	struct co *c = co_new(waiter, (void *)(intptr_t)fds[0]);
	enqueue(fds[0], c);
	co_resume(c);
	must(write(fds[1], "data", 4));
	co_turn(ep, -1);
}

static NOINLINE void close_all(void)
{
	for (uint32_t i = 0; i < queue->n; i++)
		close(queue->entries[(queue->head + i) % 29].fd); // fault
}

static NOINLINE void run_queue(void)
{
	while (queue->n) {
		struct entry e = dequeue();
		co_resume(expand(e.waiter));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_kind = CO_HEAP;
	take_orders(SIGUSR1);
	queue = must_alloc(sizeof(*queue));
	queue->head = 27;
	for (int i = 0; i < WAITERS; i++)
		begin(i % 2 ? "pipe" : "unix");
	close_all();
	serve_until_ordered(ep);
	run_queue();
	return all_resumed(WAITERS);
}
