// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// order: SIGUSR1
//
// A server that may open no more descriptors. Its acceptor was told so, and waits until
// a connection ends; meanwhile its listener is armed for nothing, and others wait in the
// backlog. All connections are idle. The order lets a client go: the acceptor is resumed.
#include <signal.h>

#include "few_descriptors.h"

#define FREE 2
#define CLIENTS 3

static struct co *paused;
static volatile sig_atomic_t ordered;
static int ep, listener, live, accepted, failed;

static void conn_main(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	live--;
	struct co *c = paused;
	paused = NULL;
	if (c)
		co_resume(c);
}

static void until_one_ends(void)
{
	failed++;
	paused = co_self();
	co_yield();
}

static void acceptor_main(void *arg)
{
	(void)arg;
	for (;;) {
		co_wait(ep, listener, EPOLLIN | EPOLLONESHOT);
		int fd;
		while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0 && errno == EMFILE)
			until_one_ends();
		if (fd < 0)
			continue;
		live++;
		accepted++;
		co_start(conn_main, (void *)(intptr_t)fd);
	}
}

static void on_order(int number)
{
	(void)number;
	ordered = 1;
}

int main(void)
{
	int port, clients[CLIENTS];
	struct sigaction act = {.sa_handler = on_order};
	must(sigaction(SIGUSR1, &act, NULL));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor_main, NULL);
	for (int i = 0; i < CLIENTS; i++)
		clients[i] = tcp_connect(port);
	leave_free(FREE);
	while (!failed)
		co_turn(ep, -1);
	say("ready");
	while (!ordered)
		co_turn(ep, -1);
	close(clients[0]);
	while (accepted < CLIENTS)
		co_turn(ep, -1);
	say("resumed");
}
