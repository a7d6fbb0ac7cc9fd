// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 4 coroutines
//
// The table keeps addresses as they are. Of the four whose descriptors were closed it has forgotten
// them; to the two that wait for open ones only the table leads, which is found.
#include "numbered.h"

enum { CLOSED = 4, OPEN = 2 };

static uint64_t kept(const struct co *c)
{
	return (uintptr_t)c;
}

static struct co *found(uint64_t word)
{
	return (struct co *)(uintptr_t)word;
}

static NOINLINE void reap(int fd)
{
	by_number[fd] = 0;
	close(fd); // fault
}

int main(void)
{
	int fds[CLOSED];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1); // so that it is not quiet
	for (int i = 0; i < CLOSED; i++)
		fds[i] = begin();
	for (int i = 0; i < OPEN; i++)
		begin();
	for (int i = 0; i < CLOSED; i++)
		reap(fds[i]);
	wipe_dead_frames();
	say("ready");
	for (;;)
		turn();
}
