// SPDX-License-Identifier: MIT
// expect: clean
//
// A session registers its connection once, edge-triggered, with the connection as
// data, and then waits until a slot is free before it reads. The request comes
// meanwhile: the loop notes it in the connection, where the session will find it.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct conn {
	int fd;
	bool readable;
	struct co *waiter;
};

static struct conn conn;
static struct co *wants_slot; // resumed when a client goes
static int ep, clients[2];

static void session(void *arg)
{
	struct conn *c = arg;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = c};
	char buf[64];
	must(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev));
	wants_slot = co_self();
	co_yield();
	while (co_blocked(read(c->fd, buf, sizeof(buf)))) {
		c->waiter = co_self();
		co_yield();
	}
}

int main(void)
{
	int fds[2];
	struct epoll_event ev;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	pair("tcp", clients);
	conn.fd = fds[0];
	co_start(session, &conn);
	must(write(fds[1], "request", 7));
	must(epoll_wait(ep, &ev, 1, -1));
	((struct conn *)ev.data.ptr)->readable = true;
	ev = (struct epoll_event){.events = EPOLLIN, .data.ptr = &clients};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, clients[0], &ev));
	say("ready");
	for (;;) {
		if (epoll_wait(ep, &ev, 1, -1) == 1 && ev.data.ptr == &clients)
			co_resume(wants_slot);
	}
}
