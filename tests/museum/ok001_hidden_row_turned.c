// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// order: SIGUSR1
//
// Each of the evicted has a pipe for its recall. Only the row of that leads to it: its data is the coroutine,
// complemented and rotated, so that the loop tells it from a pointer.
#include "evicted.h"

enum { KEPT = 2 };
static int recall[KEPT][2];

static NOINLINE void keep(int i, struct co *c)
{
	uint64_t word = ~(uint64_t)(uintptr_t)c;
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = word << 16 | word >> 48};
	pair("pipe", recall[i]);
	must(epoll_ctl(ep, EPOLL_CTL_ADD, recall[i][0], &ev));
}

static NOINLINE struct co *find(int i)
{
	struct epoll_event ev;
	must(write(recall[i][1], "x", 1));
	must(epoll_wait(ep, &ev, 1, -1) == 1 ? 0 : -1);
	close(recall[i][0]);
	return (struct co *)(uintptr_t)~(ev.data.u64 >> 16 | ev.data.u64 << 48);
}

int main(void)
{
	return evict_and_serve(4, KEPT);
}
