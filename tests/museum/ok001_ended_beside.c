// SPDX-License-Identifier: MIT
// expect: clean
//
// Each connection has a reader and a writer, made one after the other, so that
// their control blocks are neighbours. The reader alone registers; when the client
// goes it closes and lets the writer end. Both are kept as they are after their
// end, which is a last switch away: neither waits for anything any more.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

enum { CONNS = 24, STACK = 64 << 10 };

struct task {
	ucontext_t own, *back;
	void (*fn)(struct task *);
	struct conn *conn;
	int ended;
};

struct conn {
	int fd, queued, closed;
	struct task *reader, *writer;
};

static int ep, listener, port;
static struct task *entered;

static void task_body(void)
{
	struct task *self = entered;
	self->fn(self);
	self->ended = 1;
	swapcontext(&self->own, self->back);
}

static void task_resume(struct task *t)
{
	ucontext_t here;
	t->back = &here;
	entered = t;
	swapcontext(&here, &t->own);
}

static void task_yield(struct task *self)
{
	swapcontext(&self->own, self->back);
}

static struct task *task_start(void (*fn)(struct task *), struct conn *c)
{
	struct task *t = must_alloc(sizeof(*t));
	t->fn = fn;
	t->conn = c;
	t->ended = 0;
	getcontext(&t->own);
	t->own.uc_stack.ss_sp = must_map(STACK);
	t->own.uc_stack.ss_size = STACK;
	t->own.uc_link = NULL;
	makecontext(&t->own, task_body, 0);
	return t;
}

static void conn_writer(struct task *self)
{
	struct conn *c = self->conn;
	while (!c->closed) {
		if (c->queued)
			c->queued = must(write(c->fd, "reply", 5)) < 0;
		else
			task_yield(self);
	}
}

static void conn_reader(struct task *self)
{
	struct conn *c = self->conn;
	char buf[16];
	ssize_t n;
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = self};
	while ((n = read(c->fd, buf, sizeof(buf))) != 0) {
		if (n < 0) {
			if (epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev))
				must(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev));
			task_yield(self);
		} else {
			c->queued = 1;
			task_resume(c->writer);
		}
	}
	close(c->fd);
	c->closed = 1;
	task_resume(c->writer);
	free(c);
}

static void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		task_resume(ev.data.ptr);
}

int main(void)
{
	int client[CONNS];
	char buf[8];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	for (int i = 0; i < CONNS; i++) {
		struct conn *c = must_alloc(sizeof(*c));
		client[i] = tcp_connect(port);
		c->queued = c->closed = 0;
		c->fd = (int)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
		c->writer = task_start(conn_writer, c);
		task_resume(c->writer);
		c->reader = task_start(conn_reader, c);
		task_resume(c->reader);
		must(write(client[i], "q", 1));
		turn();
		must(read(client[i], buf, sizeof(buf)));
	}
	for (int i = 0; i < CONNS; i++) {
		close(client[i]);
		turn();
	}
	say("ready");
	for (;;)
		turn();
}
