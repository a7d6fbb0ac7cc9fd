// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A session has the page above its stack, and the table by descriptor keeps the
// numbers of those pages, as a cache of an operating system does: one is an
// address again once it was shifted left by 12.
#include "ordered.h"

#define SESSIONS 3
#define PAGE_SHIFT 12

struct session {
	struct co co;
	int fd;
};

static uint64_t page_of[64];
static int fds[SESSIONS], ep;

static NOINLINE struct session *find(int fd)
{
	return (struct session *)(uintptr_t)(page_of[fd] << PAGE_SHIFT);
}

static void converse(void *arg)
{
	struct session *s = find((int)(intptr_t)arg);
	char buf[64];
	while (co_read(ep, s->fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_session(int i)
{
	const size_t bytes = 64 << 10;
	int ends[2];
	pair(i % 2 ? "unix" : "tcp", ends);
	fds[i] = ends[0];
	char *stack = must_map(bytes + (1 << PAGE_SHIFT));
	struct session *s = (void *)(stack + bytes);
	page_of[ends[0]] = (uintptr_t)s >> PAGE_SHIFT;
	s->fd = ends[0];
	co_init(&s->co, converse, (void *)(intptr_t)ends[0], stack, bytes);
	s->co.pinned = true;
	co_resume(&s->co);
	must(write(ends[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void drop_all(void)
{
	for (int i = 0; i < SESSIONS; i++)
		close(fds[i]); // fault
}

static NOINLINE void resume_all(void)
{
	for (int i = 0; i < SESSIONS; i++)
		co_resume(&find(fds[i])->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++)
		open_session(i);
	drop_all();
	serve_until_ordered(ep);
	resume_all();
	return all_resumed(SESSIONS);
}
