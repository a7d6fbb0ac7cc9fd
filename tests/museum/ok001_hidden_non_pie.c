// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// Not position-independent, as old servers are: the heap follows the program, below
// 4 GiB. Its event table has room for 32 bits of user data next to the
// descriptor, and an address fits.
#include "ordered.h"

#define EVENTS 4

static struct event {
	int32_t fd;
	uint32_t user;
} events[EVENTS];
static int ep;

static NOINLINE uint32_t user_of(struct co *c)
{
	must((uintptr_t)c >> 32 ? -1 : 0);
	return (uint32_t)(uintptr_t)c;
}

static NOINLINE struct co *co_of(const struct event *e)
{
	return (struct co *)(uintptr_t)e->user;
}

static void handler(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void add_event(struct event *e, const char *kind)
{
	int fds[2];
	pair(kind, fds);
	struct co *c = co_new(handler, (void *)(intptr_t)fds[0]);
	e->fd = fds[0];
	e->user = user_of(c);
	co_resume(c);
	must(write(fds[1], "event", 5));
	co_turn(ep, -1);
}

static NOINLINE void close_all(void)
{
	for (int i = 0; i < EVENTS; i++)
		close(events[i].fd); // fault
}

static NOINLINE void finish(const struct event *e)
{
	co_resume(co_of(e));
}

static NOINLINE void finish_all(void)
{
	for (int i = EVENTS - 1; i >= 0; i--)
		finish(&events[i]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_kind = CO_HEAP;
	take_orders(SIGUSR1);
	for (int i = 0; i < EVENTS; i++)
		add_event(&events[i], i % 2 ? "unix" : "tcp");
	close_all();
	serve_until_ordered(ep);
	finish_all();
	return all_resumed(EVENTS);
}
