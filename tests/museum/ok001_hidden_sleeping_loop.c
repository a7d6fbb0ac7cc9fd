// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// As ok001_hidden_product, but the loop looks into its set now and then, and sleeps elsewhere: when memory is
// searched, nobody waits for what the two whose descriptors are open need.
#include <poll.h>
#include <time.h>

#include "numbered.h"

enum { CLOSED = 4, OPEN = 2, TURNS = 5 };

static uint64_t kept(const struct co *c)
{
	return (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15;
}

static struct co *found(uint64_t word)
{
	return (struct co *)(uintptr_t)(word * 0xf1de83e19937733d); // the inverse
}

static NOINLINE void look(void)
{
	const struct timespec tick = {.tv_nsec = 20000000};
	struct pollfd p = {.fd = ep, .events = POLLIN};
	nanosleep(&tick, NULL);
	if (poll(&p, 1, 1) > 0)
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
	for (int i = 0; i < TURNS; i++)
		look();
	say("ready");
	while (!ordered)
		look();
	for (int i = 0; i < CLOSED; i++)
		resume(fds[i]);
	return all_resumed(CLOSED);
}
