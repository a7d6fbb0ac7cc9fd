// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// As ok001_hidden_product, but the loop sleeps in poll, with the epoll set among its descriptors, as a GLib
// program with another library's loop in it does: the two whose descriptors are open are well all the same.
#include <poll.h>

#include "numbered.h"

enum { CLOSED = 4, OPEN = 2 };

static uint64_t kept(const struct co *c)
{
	return (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15;
}

static struct co *found(uint64_t word)
{
	return (struct co *)(uintptr_t)(word * 0xf1de83e19937733d); // the inverse
}

static NOINLINE void poll_set(void)
{
	struct pollfd p = {.fd = ep, .events = POLLIN};
	if (poll(&p, 1, -1) > 0)
		turn();
}

int main(void)
{
	int fds[CLOSED];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < CLOSED; i++)
		fds[i] = begin();
	for (int i = 0; i < OPEN; i++)
		begin();
	for (int i = 0; i < CLOSED; i++)
		close(fds[i]); // fault
	wipe_dead_frames();
	say("ready");
	while (!ordered)
		poll_set();
	for (int i = 0; i < CLOSED; i++)
		resume(fds[i]);
	return all_resumed(CLOSED);
}
