// SPDX-License-Identifier: MIT
// expect: CTP005 none..suspect, 1 coroutine
// engine: both
// order: SIGUSR1
//
// A server that had no descriptor free. Its acceptor was told so, and waits until half of
// the connections have ended, so as not to be told again at once: one has, the others
// are idle, and some wait in the backlog. The order lets another client go.
#include <signal.h>

#include "few_descriptors.h"

#define FREE 4
#define CLIENTS 6

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
	if (--live > FREE / 2)
		return;
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
	close(clients[0]);
	while (live == FREE)
		co_turn(ep, -1);
	say("ready");
	while (!ordered)
		co_turn(ep, -1);
	close(clients[1]);
	while (accepted < CLIENTS)
		co_turn(ep, -1);
	say("resumed");
}
