// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
//
// A server with a limit of connections. Its acceptor is a coroutine; the loop
// registers the listener for it after the switch, one-shot. It accepts one for
// each event, so it never hears EAGAIN. At the limit it waits without a
// registration until somebody leaves, and is resumed then; but the loop has noted
// the listener as armed, although it armed none at the limit.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define LIMIT 2

struct waiter {
	struct co *co;
	int fd;
	bool armed, at_limit;
};

static struct waiter acceptor;
static int ep, live, accepted;

static void until_readable(struct waiter *w)
{
	w->at_limit = false;
	co_yield(); // fault
}

static void until_below_limit(struct waiter *w)
{
	w->at_limit = true;
	while (live >= LIMIT)
		co_yield();
}

static void arm(struct waiter *w)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = w};
	if (w->armed)
		return;
	if (!w->at_limit && epoll_ctl(ep, EPOLL_CTL_MOD, w->fd, &ev) < 0)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, w->fd, &ev));
	w->armed = true;
}

static NOINLINE void resume(struct waiter *w)
{
	co_resume(w->co);
	arm(w);
}

static void conn_main(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	live--;
}

static void acceptor_main(void *arg)
{
	struct waiter *w = arg;
	for (;;) {
		until_below_limit(w);
		until_readable(w);
		int fd = (int)must(accept4(w->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
		live++;
		accepted++;
		co_start(conn_main, (void *)(intptr_t)fd);
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	int before = live;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.ptr == &acceptor) {
		acceptor.armed = false;
		resume(&acceptor);
	} else {
		co_resume(ev.data.ptr);
	}
	if (live < before && acceptor.at_limit)
		resume(&acceptor);
}

int main(void)
{
	int port, clients[LIMIT + 1];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	acceptor.fd = tcp_listen(&port);
	acceptor.co = co_new(acceptor_main, &acceptor);
	resume(&acceptor);
	for (int i = 0; i < LIMIT; i++)
		clients[i] = tcp_connect(port);
	while (accepted < LIMIT)
		turn();
	close(clients[0]);
	while (live == LIMIT)
		turn();
	clients[LIMIT] = tcp_connect(port);
	must(write(clients[1], "x", 1));
	turn();
	say("ready");
	for (;;)
		turn();
}
