// SPDX-License-Identifier: MIT
// expect: CTP003 none..suspect, 6 coroutines
// order: SIGUSR1
// engine: both
//
// A pool of idle workers, whose free list is hardened as those of allocators are: its
// words are combined with a secret, so that no word of memory is the address of a
// worker. Each has worked before, and works again on the order.
#include <sys/random.h>

#include "ordered.h"

#define WORKERS 6

static uint64_t secret, idle; // the list's first, and in c->arg the next
static int ep;

static NOINLINE void park(struct co *self)
{
	self->arg = (void *)idle;
	idle = (uint64_t)self ^ secret;
	co_yield();
}

static void work(void *arg)
{
	(void)arg;
	for (int jobs = 0; jobs < 3; jobs++)
		park(co_self());
	ended++;
}

static NOINLINE void give_each(void)
{
	uint64_t list = idle;
	idle = secret;
	while (list != secret) {
		struct co *c = (struct co *)(list ^ secret);
		list = (uint64_t)c->arg;
		co_resume(c);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(getrandom(&secret, sizeof(secret), 0) == sizeof(secret) ? 0 : -1);
	idle = secret;
	take_orders(SIGUSR1);
	for (int i = 0; i < WORKERS; i++)
		co_start(work, NULL);
	give_each();
	give_each();
	serve_until_ordered(ep);
	give_each();
	return all_resumed(WORKERS);
}
