// SPDX-License-Identifier: MIT
// expect: clean
//
// Workers of a static pool wait for work. The free list holds their numbers: no
// pointer leads to any of them, and each is found all the same.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

#define WORKERS 4

static struct co pool[WORKERS];
static char stacks[WORKERS][32 << 10] __attribute__((aligned(16)));
static int ep, idle[WORKERS], nidle, worked;

static void worker(void *arg)
{
	for (;;) {
		idle[nidle++] = (int)(intptr_t)arg;
		co_yield();
		worked++;
	}
}

static NOINLINE void begin(int i)
{
	pool[i].pinned = true;
	co_init(&pool[i], worker, (void *)(intptr_t)i, stacks[i], sizeof(stacks[i]));
	co_resume(&pool[i]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < WORKERS; i++)
		begin(i);
	co_resume(&pool[idle[--nidle]]);
	must(worked == 1 ? 0 : -1);
	say("ready");
	co_loop(ep);
}
