// SPDX-License-Identifier: MIT
//
// poller.h - what the exhibits that wait by poll share: a loop over an array of
// descriptors, and beside it who waits for each. Whom the loop resumes is taken
// out first; nothing is left behind in a slot that is given up.
#pragma once

#include <poll.h>
#include <string.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define POLLER static __attribute__((noinline, unused))
enum { SLOTS = 32 };

struct poller {
	struct pollfd fds[SLOTS];
	struct co *waiters[SLOTS];
	int n;
};

POLLER void poller_put(struct poller *p, int fd, short events, struct co *waiter)
{
	p->fds[p->n] = (struct pollfd){.fd = fd, .events = events};
	p->waiters[p->n++] = waiter;
}

// The last slot fills the gap.
POLLER struct co *poller_take(struct poller *p, int slot)
{
	struct co *waiter = p->waiters[slot];
	p->fds[slot] = p->fds[--p->n];
	p->waiters[slot] = p->waiters[p->n];
	p->waiters[p->n] = NULL;
	return waiter;
}

POLLER ssize_t poller_read(struct poller *p, int fd, void *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(fd, buf, n))) {
		poller_put(p, fd, POLLIN, co_self());
		co_yield();
	}
	return r;
}

POLLER void poller_wipe(void) // as co.c's: dead words are no way to a coroutine
{
	char dead[16 << 10];
	memset(dead, 0, sizeof(dead));
	__asm__ volatile("" : : "r"(dead) : "memory");
}

// Resumes those whose descriptors are ready, each once; before that, `bad` hears of slots that are not open.
POLLER void poller_dispatch(struct poller *p, void (*bad)(struct poller *p, int slot))
{
	for (int i = p->n - 1; i >= 0; i--) {
		if (i >= p->n || !p->fds[i].revents)
			continue;
		if ((p->fds[i].revents & POLLNVAL) && bad)
			bad(p, i);
		else
			co_resume(poller_take(p, i));
	}
}

POLLER int poller_turn(struct poller *p, int timeout_ms)
{
	poller_wipe();
	int n = poll(p->fds, (nfds_t)p->n, timeout_ms);
	if (n > 0)
		poller_dispatch(p, NULL);
	return n;
}

POLLER _Noreturn void poller_loop(struct poller *p)
{
	for (;;)
		poller_turn(p, -1);
}
