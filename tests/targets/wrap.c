// SPDX-License-Identifier: MIT
//
// wrap.c - read, accept and close for programs that write blocking code: in a
// coroutine they wait by switching away, inside the call, and return on
// whatever thread goes on. Part of a program, or a library of its own; either
// way the next read and so on is found by RTLD_NEXT.
#include <dlfcn.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"

extern int ep; // the program's loop

static void *next(const char *name)
{
	void *p = dlsym(RTLD_NEXT, name);
	if (!p)
		abort();
	return p;
}

ssize_t read(int fd, void *buf, size_t n)
{
	static ssize_t (*real)(int, void *, size_t);
	if (!real)
		real = next("read");
	for (;;) {
		ssize_t r = real(fd, buf, n);
		if (!co_blocked(r) || !co_self())
			return r;
		co_wait(ep, fd, EPOLLIN);
	}
}

int accept(int fd, struct sockaddr *a, socklen_t *len)
{
	static int (*real)(int, struct sockaddr *, socklen_t *);
	if (!real)
		real = next("accept");
	for (;;) {
		int r = real(fd, a, len);
		if (!co_blocked(r) || !co_self())
			return r;
		co_wait(ep, fd, EPOLLIN);
	}
}

int close(int fd)
{
	static int (*real)(int);
	if (!real)
		real = next("close");
	if (co_self()) { // makes way for the others first
		int now = eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC);
		co_wait(ep, now, EPOLLIN);
		real(now);
	}
	return real(fd);
}
