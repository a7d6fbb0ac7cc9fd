// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// order: SIGUSR1
//
// A server that may open no more descriptors. Its acceptor was told so, and waits until
// a connection ends; meanwhile its listener is armed for nothing, and others wait in the
// backlog. All connections are idle. The order lets a client go: the acceptor is resumed.
#include "backlog.h"
#include "ordered.h"

#define FREE 2
#define CLIENTS 3

static struct co *paused;

static void conn_ended(void)
{
	struct co *c = paused;
	paused = NULL;
	if (c)
		co_resume(c);
}

static void until_one_ends(void)
{
	paused = co_self();
	co_yield();
}

static void acceptor_main(void *arg)
{
	(void)arg;
	for (;;) {
		co_wait(ep, listener, EPOLLIN | EPOLLONESHOT);
		int fd;
		while ((fd = take_one()) < 0 && errno == EMFILE)
			until_one_ends();
		if (fd >= 0)
			serve(fd);
	}
}

int main(void)
{
	int clients[CLIENTS];
	take_orders(SIGUSR1);
	run_out(acceptor_main, clients, CLIENTS, 0, FREE);
	say("ready");
	while (!ordered)
		co_turn(ep, -1);
	close(clients[0]);
	while (accepted < CLIENTS)
		co_turn(ep, -1);
	say("resumed");
}
