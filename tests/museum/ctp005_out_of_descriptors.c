// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
//
// An acceptor that arms its listener for one connection at a time. When no descriptor
// is free it waits until a connection ends, without the listener. Who ends a connection
// resumes it only if the server's own limit had been reached, which is higher than
// what the process may open.
#include "few_descriptors.h"

#define FREE 2
#define LIMIT 100
#define CLIENTS 4

static struct co *acceptor;
static int ep, listener, live, failed;

static void conn_main(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	if (live-- == LIMIT)
		co_resume(acceptor);
}

static void until_one_ends(void)
{
	failed++;
	co_yield(); // fault
}

static int next_connection(void)
{
	for (;;) {
		co_wait(ep, listener, EPOLLIN | EPOLLONESHOT);
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			return fd;
		if (errno == EMFILE)
			until_one_ends();
	}
}

static void acceptor_main(void *arg)
{
	(void)arg;
	acceptor = co_self();
	for (;;) {
		int fd = next_connection();
		live++;
		co_start(conn_main, (void *)(intptr_t)fd);
		while (live >= LIMIT)
			co_yield();
	}
}

int main(void)
{
	int port, clients[CLIENTS];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor_main, NULL);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = tcp_connect(port);
	leave_free(FREE);
	while (!failed)
		co_turn(ep, -1);
	close(clients[0]);
	while (live == FREE)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
