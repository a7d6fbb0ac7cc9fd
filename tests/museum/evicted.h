// SPDX-License-Identifier: MIT
//
// evicted.h - a server whose readers the kernel leads to, by their registrations' data. Some are evicted: their
// descriptors are closed, and keep() puts each away until find() is asked for it, on an order.
#pragma once

#include <stdint.h>

#include "ordered.h"

static void keep(int i, struct co *c);
static struct co *find(int i);

enum { EVICTED_MOST = 8 };
static int ep;

static void served(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE struct co *open_one(int *fd)
{
	int ends[2];
	pair("unix", ends);
	*fd = ends[0];
	struct co *c = co_new(served, (void *)(intptr_t)ends[0]);
	co_resume(c);
	must(write(ends[1], "hello", 5));
	co_turn(ep, -1);
	return c;
}

// The descriptor.
static NOINLINE int put_away(int i)
{
	int fd;
	keep(i, open_one(&fd));
	return fd;
}

static NOINLINE void call_back(int i)
{
	co_resume(find(i));
}

// `readers` go on; `n` are evicted.
static int evict_and_serve(int readers, int n)
{
	int fd, fds[EVICTED_MOST];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	while (readers--)
		open_one(&fd);
	for (int i = 0; i < n; i++)
		fds[i] = put_away(i);
	for (int i = 0; i < n; i++)
		close(fds[i]); // fault
	serve_until_ordered(ep);
	for (int i = 0; i < n; i++)
		call_back(i);
	return all_resumed(n);
}
