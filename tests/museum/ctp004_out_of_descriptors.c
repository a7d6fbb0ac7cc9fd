// SPDX-License-Identifier: MIT
// expect: CTP004 suspect..likely, 1 coroutine
// engine: both
//
// An edge-triggered listener. The acceptor takes connections until it is told that there
// are no more, or that no descriptor is free; it waits then in the same way. The
// connections in the backlog make no edge when others have gone, and their clients
// wait for an answer.
#include "few_descriptors.h"

#define FREE 2
#define CLIENTS 4

static int ep, listener, live, accepted, failed;

static void conn_main(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	live--;
}

static int next_connection(void)
{
	int fd;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0) {
		failed += errno == EMFILE;
		co_yield(); // fault
	}
	return fd;
}

static void acceptor_main(void *arg)
{
	(void)arg;
	co_watch(ep, listener, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		int fd = next_connection();
		live++;
		accepted++;
		co_start(conn_main, (void *)(intptr_t)fd);
	}
}

int main(void)
{
	int port, clients[CLIENTS + 1];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor_main, NULL);
	clients[0] = tcp_connect(port); // the first one, while there is room
	while (!accepted)
		co_turn(ep, -1);
	for (int i = 1; i <= CLIENTS; i++)
		clients[i] = tcp_connect(port);
	leave_free(FREE);
	while (!failed)
		co_turn(ep, -1);
	close(clients[0]);
	close(clients[1]);
	while (live > FREE - 1)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
