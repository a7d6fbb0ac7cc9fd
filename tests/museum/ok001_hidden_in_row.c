// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A row's 64 bits of data tell what to do: an odd number is a command, the list of
// sessions shifted left by one, and a bit; an even one is a coroutine. The row of
// the command's pipe is all that has the list.
#include "ordered.h"

#define SESSIONS 3

struct session {
	struct session *next;
	struct co *reader;
	int fd;
};

static int ep, command;

static void reader(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE struct session *open_session(struct session *list)
{
	struct session *s = must_alloc(sizeof(*s));
	int fds[2];
	pair("unix", fds);
	s->fd = fds[0];
	s->next = list;
	s->reader = co_new(reader, (void *)(intptr_t)s->fd);
	co_resume(s->reader);
	must(write(fds[1], "hello", 5));
	co_turn(ep, -1);
	return s;
}

static NOINLINE void arm(struct session *list)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.u64 = (uint64_t)(uintptr_t)list << 1 | 1};
	int fds[2];
	pair("pipe", fds);
	command = fds[1];
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &ev));
}

static NOINLINE void open_and_close(void)
{
	struct session *list = NULL;
	for (int i = 0; i < SESSIONS; i++)
		list = open_session(list);
	arm(list);
	for (; list; list = list->next)
		close(list->fd); // fault
}

static NOINLINE void serve(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1 || !(ev.data.u64 & 1))
		return;
	for (struct session *s = (struct session *)(uintptr_t)(ev.data.u64 >> 1); s; s = s->next)
		co_resume(s->reader);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	open_and_close();
	wipe_dead_frames();
	say("ready");
	while (!ordered)
		serve();
	must(write(command, "x", 1));
	serve();
	return all_resumed(SESSIONS);
}
