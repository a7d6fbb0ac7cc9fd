// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
// engine: both
//
// A chat server whose handler reads for the coroutine: it takes a line off the
// socket, resumes the room's coroutine with it, and arms the row again at its
// end. For a ping it returns early, and the row stays disarmed. The coroutine,
// which reads nothing itself, waits for its next line for ever.
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define MEMBERS 3

struct member {
	struct co *co;
	int fd, peer, said;
	const char *line;
	size_t bytes;
};

static struct member *members; // an array on the heap
static int ep, pings;

static void arm(struct member *m, int op)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u64 = (uint64_t)(m - members) + 1};
	must(epoll_ctl(ep, op, m->fd, &ev));
}

static const char *next_line(struct member *m)
{
	m->line = NULL;
	while (!m->line)
		co_yield(); // fault
	return m->line;
}

static void room(void *arg)
{
	struct member *m = arg;
	while (*next_line(m) != '.')
		m->said++;
	close(m->fd);
}

static NOINLINE void on_readable(struct member *m)
{
	char line[64];
	ssize_t n = recv(m->fd, line, sizeof(line), 0);
	if (n <= 0)
		return;
	if (n >= 4 && !memcmp(line, "PING", 4)) {
		must(send(m->fd, "PONG", 4, 0));
		pings++;
		return;
	}
	m->line = line;
	m->bytes = (size_t)n;
	co_resume(m->co);
	arm(m, EPOLL_CTL_MOD);
}

static NOINLINE void join_room(struct member *m)
{
	int fds[2];
	pair("tcp", fds);
	m->fd = fds[0];
	m->peer = fds[1];
	m->co = co_new(room, m);
	co_resume(m->co);
	arm(m, EPOLL_CTL_ADD);
}

static NOINLINE void turn(int listener)
{
	struct epoll_event ev[8];
	int n = epoll_wait(ep, ev, 8, -1);
	for (int i = 0; i < n; i++)
		if (ev[i].data.u64)
			on_readable(&members[ev[i].data.u64 - 1]);
		else
			close(accept(listener, NULL, NULL));
}

int main(void)
{
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	members = must_alloc(MEMBERS * sizeof(*members));
	for (int i = 0; i < MEMBERS; i++) {
		join_room(&members[i]);
		must(write(members[i].peer, "hello", 5));
		while (!members[i].said)
			turn(listener);
	}
	must(write(members[1].peer, "PING", 4));
	while (!pings)
		turn(listener);
	must(write(members[1].peer, "anyone?", 7));
	must(write(members[2].peer, "bye", 3));
	while (members[2].said < 2)
		turn(listener);
	say("ready");
	for (;;)
		turn(listener);
}
