// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 4 coroutines
// order: SIGUSR1
//
// The table keeps addresses multiplied by a number, which nobody searches for. Two coroutines wait
// for descriptors that are open, and only the table leads to them: so the same may be true of the four
// whose descriptors were closed.
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
		turn();
	for (int i = 0; i < CLOSED; i++)
		resume(fds[i]);
	return all_resumed(CLOSED);
}
