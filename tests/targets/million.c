// SPDX-License-Identifier: MIT
//
// A great many coroutines, each with its control block at the top of its own
// stack, all stacks in one mapping, and pointers to each in a table and in a list.
//
//	plain N BYTES       suspended, waiting for nothing that is known
//	epoll N BYTES F     waiting for one of F descriptors each
//	lost N BYTES F K    the same, and then K descriptors are closed
//	short N BYTES       one after the other, on one stack
//	waves N BYTES W     W times: all are made, all begin, all end
//	switch N BYTES S    S switches into them, in turn
//
// Those that end say how much memory they had at most.
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

struct co {
	ucontext_t own;
	struct co *next;
	int fd; // -1: none
	bool first; // of those that wait for it
};

static ucontext_t home;
static struct co **all, *list;
static char *stacks;
static size_t bytes;
static int ep, *fds;

static void leave(struct co *c)
{
	must(swapcontext(&c->own, &home));
}

static void park(struct co *c)
{
	char byte[8];
	if (c->first)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &(struct epoll_event){.events = EPOLLIN, .data.ptr = c}));
	while (c->fd >= 0 && read(c->fd, byte, sizeof(byte)) < 0)
		leave(c);
	for (;;)
		leave(c);
}

static void twice(struct co *c)
{
	leave(c);
}

static void once(struct co *c)
{
	(void)c;
}

static void body(unsigned hi, unsigned lo, unsigned way)
{
	struct co *c = (struct co *)((uintptr_t)hi << 32 | lo);
	static void (*const ways[])(struct co *) = {park, twice, once};
	ways[way](c);
}

static struct co *make(size_t i, unsigned way)
{
	char *stack = stacks + i * bytes;
	struct co *c = (struct co *)(stack + bytes - ((sizeof(*c) + 63) & ~63UL));
	must(getcontext(&c->own));
	c->own.uc_stack.ss_sp = stack;
	c->own.uc_stack.ss_size = (size_t)((char *)c - stack);
	c->own.uc_link = &home;
	c->fd = -1;
	c->first = false;
	makecontext(&c->own, (void (*)(void))body, 3, (unsigned)((uintptr_t)c >> 32), (unsigned)(uintptr_t)c, way);
	return c;
}

static void enter(struct co *c)
{
	must(swapcontext(&home, &c->own));
}

// The stacks of n, which nobody has touched.
static void take(size_t n)
{
	stacks = must_map(n * bytes);
	all = must_alloc(n * sizeof(struct co *));
}

static void descriptors(size_t n)
{
	struct rlimit most;
	must(getrlimit(RLIMIT_NOFILE, &most));
	most.rlim_cur = most.rlim_max;
	must(setrlimit(RLIMIT_NOFILE, &most));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	fds = must_alloc(n * sizeof(*fds));
	for (size_t i = 0; i < n; i++)
		fds[i] = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
}

// Waiters of one descriptor share its registration: it leads to the first of them.
static void idle(size_t n, size_t nfds)
{
	take(n);
	for (size_t i = 0; i < n; i++) {
		struct co *c = all[i] = make(i, 0);
		c->next = list;
		list = c;
		if (nfds)
			c->fd = fds[i % nfds];
		c->first = i < nfds;
		enter(c);
	}
}

static void wait_for_ever(void)
{
	struct epoll_event ev[16];
	say("ready");
	for (;;)
		epoll_wait(ep, ev, 16, -1);
}

static void in_waves(size_t n, size_t waves)
{
	take(n);
	for (size_t w = 0; w < waves; w++) {
		for (size_t i = 0; i < n; i++)
			enter(all[i] = make(i, 1));
		for (size_t i = 0; i < n; i++)
			enter(all[i]);
	}
}

static void say_peak(void)
{
	struct rusage u;
	char line[48];
	must(getrusage(RUSAGE_SELF, &u));
	snprintf(line, sizeof(line), "peak %ld KiB", u.ru_maxrss);
	say(line);
}

int main(int argc, char **argv)
{
	must(argc > 3 ? 0 : -1);
	const char *what = argv[1];
	size_t n = strtoul(argv[2], NULL, 10), more = argc > 4 ? strtoul(argv[4], NULL, 10) : 0;
	size_t closed = argc > 5 ? strtoul(argv[5], NULL, 10) : 0;
	bytes = strtoul(argv[3], NULL, 10);
	if (!strcmp(what, "short")) {
		take(1);
		for (size_t i = 0; i < n; i++)
			enter(make(0, 2));
	} else if (!strcmp(what, "waves")) {
		in_waves(n, more);
	} else if (!strcmp(what, "switch")) {
		idle(n, 0);
		for (size_t i = 0; i < more; i++)
			enter(all[i % n]);
	} else {
		descriptors(more);
		idle(n, more);
		for (size_t i = 0; i < closed; i++)
			must(close(fds[i]));
		wait_for_ever();
	}
	say_peak();
}
