// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 6 coroutines
// order: SIGUSR1
//
// A list that can be walked in both directions, with one link each: the sum of the
// addresses before and behind. No word of memory is the address of a session that
// stands between two others.
#include "ordered.h"

#define SESSIONS 6

struct session {
	uintptr_t link;
	int fd;
	struct co *co;
};

static struct session *first, *last;
static int ep;

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void append(struct session *s)
{
	s->link = (uintptr_t)last;
	if (last)
		last->link += (uintptr_t)s;
	else
		first = s;
	last = s;
}

static NOINLINE void open_session(void)
{
	int fds[2];
	struct session *s = must_alloc(sizeof(*s));
	pair("unix", fds);
	s->fd = fds[0];
	s->co = co_new(session, (void *)(intptr_t)s->fd);
	append(s);
	co_resume(s->co);
	must(write(fds[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void each(void (*visit)(struct session *s))
{
	struct session *before = NULL;
	for (struct session *s = first, *next; s; before = s, s = next) {
		next = (struct session *)(s->link - (uintptr_t)before);
		visit(s);
	}
}

static NOINLINE void drop(struct session *s)
{
	close(s->fd); // fault
}

static NOINLINE void wake(struct session *s)
{
	co_resume(s->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++)
		open_session();
	each(drop);
	co_turn(ep, 0);
	serve_until_ordered(ep);
	each(wake);
	return all_resumed(SESSIONS);
}
