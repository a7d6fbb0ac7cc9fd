// SPDX-License-Identifier: MIT
//
// numbered.h - a server whose registrations have the descriptor's number as their data: only its table
// leads to the coroutine that waits. The exhibit says how that keeps an address.
#pragma once

#include <errno.h>

#include "ordered.h"

#define NUMBERS 64

static uint64_t kept(const struct co *c);
static struct co *found(uint64_t word);

static uint64_t by_number[NUMBERS];
static int peer_of[NUMBERS];
static int ep;

static void serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	struct epoll_event e = {.events = EPOLLIN, .data.u64 = (uint64_t)fd};
	ssize_t n;
	char byte;
	for (bool waited = false; (n = read(fd, &byte, 1)) == 1 || (n == -1 && errno == EAGAIN);) {
		if (n == 1)
			continue;
		if (!waited)
			must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
		waited = true;
		co_yield();
	}
	ended++;
}

// Reads until the end. The descriptor.
static NOINLINE int begin(void)
{
	int fds[2];
	pair("unix", fds);
	struct co *c = co_new(serve, (void *)(intptr_t)fds[0]);
	by_number[fds[0]] = kept(c);
	peer_of[fds[0]] = fds[1];
	co_resume(c);
	return fds[0];
}

ORDERED void resume(int fd)
{
	co_resume(found(by_number[fd]));
}

static NOINLINE void turn(void)
{
	struct epoll_event e[8];
	int n = epoll_wait(ep, e, 8, -1);
	for (int i = 0; i < n; i++)
		resume(e[i].data.fd);
}
