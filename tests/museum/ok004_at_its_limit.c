// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// order: SIGUSR1
//
// An edge-triggered listener of a server that may open no more descriptors. The acceptor
// waits in the same way as for the next connection; whoever ends one resumes it. All
// connections are idle, and some wait in the backlog. The order lets one client go.
#include <signal.h>

#include "few_descriptors.h"

#define FREE 2
#define CLIENTS 4

static struct co *acceptor;
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
	co_resume(acceptor);
}

static int next_connection(void)
{
	int fd;
	while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) < 0) {
		failed += errno == EMFILE;
		co_yield();
	}
	return fd;
}

static void acceptor_main(void *arg)
{
	(void)arg;
	acceptor = co_self();
	co_watch(ep, listener, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		int fd = next_connection();
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
	int port, clients[CLIENTS + 1];
	struct sigaction act = {.sa_handler = on_order};
	must(sigaction(SIGUSR1, &act, NULL));
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
	say("ready");
	while (!ordered)
		co_turn(ep, -1);
	close(clients[0]);
	while (accepted < FREE + 2)
		co_turn(ep, -1);
	say("resumed");
}
