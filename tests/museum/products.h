// SPDX-License-Identifier: MIT
//
// products.h - a server whose table keeps addresses multiplied by a number, which nobody searches
// for. The readers of CLOSED connections lose their descriptors, those of OPEN ones do not: only the
// table leads to either. The exhibit says how its loop waits.
#pragma once

#include "numbered.h"

enum { CLOSED = 4, OPEN = 2 };

static int closed[CLOSED];

static uint64_t kept(const struct co *c)
{
	return (uint64_t)(uintptr_t)c * 0x9e3779b97f4a7c15;
}

static struct co *found(uint64_t word)
{
	return (struct co *)(uintptr_t)(word * 0xf1de83e19937733d); // the inverse
}

static NOINLINE void open_all(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < CLOSED; i++)
		closed[i] = begin();
	for (int i = 0; i < OPEN; i++)
		begin();
}

// After the order.
static NOINLINE int resume_closed(void)
{
	for (int i = 0; i < CLOSED; i++)
		resume(closed[i]);
	return all_resumed(CLOSED);
}
