// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// At SIGTERM a server lets go of its idle workers: it empties their list, and leaves
// their stacks to the kernel. What it has to do then takes a while.
#include "ordered.h"

#define WORKERS 6

static struct co **idle;
static int ep, nidle;

static void worker(void *arg)
{
	(void)arg;
	for (;;) {
		idle[nidle++] = co_self();
		co_yield();
	}
}

static NOINLINE void give_each(void)
{
	struct co *all[WORKERS];
	int n = nidle;
	memcpy(all, idle, sizeof(all));
	nidle = 0;
	for (int i = 0; i < n; i++)
		co_resume(all[i]);
	memset(all, 0, sizeof(all));
	__asm__ volatile("" : : "r"(all) : "memory");
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	idle = must_alloc(WORKERS * sizeof(*idle));
	take_orders(SIGTERM);
	for (int i = 0; i < WORKERS; i++)
		co_start(worker, NULL);
	give_each();
	give_each();
	serve_until_ordered(ep);
	free(idle);
	idle = NULL;
	wipe_dead_frames();
	nap_ms(300);
	return 0;
}
