// SPDX-License-Identifier: MIT
// expect: CTP009 suspect, 1 coroutine
//
// The acceptor registers the new connection with its own coroutine for data,
// and starts a session that is to wait for it. The event resumes the acceptor,
// who looks for another connection and goes back to sleep.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, listener;

static void session(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char request[64];
	while (co_blocked(read(fd, request, sizeof(request))))
		co_yield(); // fault
}

static void acceptor(void *arg)
{
	(void)arg;
	co_watch(ep, listener, EPOLLIN, co_self());
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0) {
			co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
			co_start(session, (void *)(intptr_t)fd);
		} else {
			co_yield();
		}
	}
}

int main(void)
{
	int port, client;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor, NULL);
	client = tcp_connect(port);
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(client, "GET", 3));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
