// SPDX-License-Identifier: MIT
// expect: CTP003 none..suspect, 6 coroutines
// order: SIGUSR1
//
// A pool of idle workers. Its free list says how far the next one is, in units of 16
// bytes and as a small number, as position-independent lists do: no word of memory is
// the address of a worker. Each has worked before, and works again on the order.
#include "ordered.h"

#define WORKERS 6

struct slot {
	int32_t next; // from here, in units; 0: the last
	struct co co;
};

static struct pool {
	int32_t first; // from here, in units; 0: nobody
	int served;
} *pool;
static int ep;

static NOINLINE int32_t distance(const void *from, const void *to)
{
	return (int32_t)(((const char *)to - (const char *)from) / 16);
}

static NOINLINE void park(struct co *self)
{
	struct slot *s = (struct slot *)((char *)self - offsetof(struct slot, co));
	s->next = pool->first ? pool->first - distance(pool, s) : 0;
	pool->first = distance(pool, s);
	co_yield();
}

static void work(void *arg)
{
	(void)arg;
	for (int jobs = 0; jobs < 3; jobs++) {
		park(co_self());
		pool->served++;
	}
	ended++;
}

static NOINLINE void give_each(void)
{
	struct slot *s = pool->first ? (struct slot *)((char *)pool + 16L * pool->first) : NULL;
	pool->first = 0;
	while (s) {
		struct slot *next = s->next ? (struct slot *)((char *)s + 16L * s->next) : NULL;
		co_resume(&s->co);
		s = next;
	}
}

static NOINLINE void hire(void)
{
	struct slot *s = must_alloc(sizeof(*s));
	char *stack = must_map(32 << 10);
	s->co.pinned = true;
	co_init(&s->co, work, NULL, stack, 32 << 10);
	co_resume(&s->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pool = must_alloc(sizeof(*pool));
	take_orders(SIGUSR1);
	for (int i = 0; i < WORKERS; i++)
		hire();
	give_each();
	give_each();
	serve_until_ordered(ep);
	give_each();
	return all_resumed(WORKERS);
}
