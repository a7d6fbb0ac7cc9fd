// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// Forty clients connect one after the other and stay. Each has a reader, and a
// writer beside it, both started by the acceptor; the writer waits for something to send.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { CLIENTS = 40 };

static int ep, listener, port, conns[CLIENTS], accepted;

static void conn_writer(void *arg)
{
	(void)arg;
	co_yield(); // until there is something to send
}

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void acceptor(void *arg)
{
	(void)arg;
	for (;;) {
		co_wait(ep, listener, EPOLLIN);
		conns[accepted] = (int)must(accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
		co_start(conn_writer, NULL);
		co_start(conn_reader, &conns[accepted]);
		if (++accepted < CLIENTS)
			tcp_connect(port);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor, NULL);
	tcp_connect(port);
	while (accepted < CLIENTS)
		co_turn(ep, -1);
	return 0;
}
