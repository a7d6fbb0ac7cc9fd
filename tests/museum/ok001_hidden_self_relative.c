// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 6 coroutines
// order: SIGUSR1
//
// An intrusive list whose links are the distance from the link itself to what it
// leads to, in 64 bits, as boost::interprocess::offset_ptr keeps it: so that the
// list can lie in memory that others map elsewhere. The links lead into the
// middle of sessions, some in the heap, some in mappings of their own.
#include "ordered.h"

#define SESSIONS 6

struct link {
	int64_t next, previous;
};

struct session {
	int fd;
	char name[52];
	struct link link;
	struct co co;
};

static struct link sessions;
static int ep;

static NOINLINE struct link *follow(const int64_t *from)
{
	return (struct link *)((char *)from + *from);
}

static NOINLINE void lead(int64_t *from, const struct link *to)
{
	*from = (int64_t)((uintptr_t)to - (uintptr_t)from);
}

static struct session *session_of(struct link *l)
{
	return (struct session *)((char *)l - offsetof(struct session, link));
}

static void converse(void *arg)
{
	struct session *s = arg;
	char buf[64];
	while (co_read(ep, s->fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_session(int i)
{
	const size_t bytes = 64 << 10;
	int fds[2];
	pair(i % 2 ? "unix" : "tcp", fds);
	struct session *s = i % 2 ? must_map(sizeof(*s)) : must_alloc(sizeof(*s));
	s->fd = fds[0];
	co_init(&s->co, converse, s, must_map(bytes), bytes);
	s->co.pinned = true;
	lead(&s->link.next, &sessions);
	lead(&s->link.previous, follow(&sessions.previous));
	lead(&follow(&sessions.previous)->next, &s->link);
	lead(&sessions.previous, &s->link);
	co_resume(&s->co);
	must(write(fds[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void drop_all(void)
{
	for (struct link *l = follow(&sessions.next); l != &sessions; l = follow(&l->next))
		close(session_of(l)->fd); // fault
}

static NOINLINE void resume_all(void)
{
	for (struct link *l = follow(&sessions.next); l != &sessions; l = follow(&l->next))
		co_resume(&session_of(l)->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	lead(&sessions.next, &sessions);
	lead(&sessions.previous, &sessions);
	for (int i = 0; i < SESSIONS; i++)
		open_session(i);
	drop_all();
	serve_until_ordered(ep);
	resume_all();
	return all_resumed(SESSIONS);
}
