// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// order: SIGUSR1
//
// An edge-triggered listener of a server that may open no more descriptors. The acceptor
// waits in the same way as for the next connection; whoever ends one resumes it. All
// connections are idle, and some wait in the backlog. The order lets one client go.
#include "backlog.h"
#include "ordered.h"

#define FREE 2
#define CLIENTS 5

static struct co *acceptor;

static void conn_ended(void)
{
	co_resume(acceptor);
}

static int next_connection(void)
{
	int fd;
	while ((fd = take_one()) < 0)
		co_yield();
	return fd;
}

static void acceptor_main(void *arg)
{
	(void)arg;
	acceptor = co_self();
	co_watch(ep, listener, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		serve(next_connection());
	}
}

int main(void)
{
	int clients[CLIENTS];
	take_orders(SIGUSR1);
	run_out(acceptor_main, clients, CLIENTS, 1, FREE);
	say("ready");
	while (!ordered)
		co_turn(ep, -1);
	close(clients[0]);
	while (accepted < FREE + 2)
		co_turn(ep, -1);
	say("resumed");
}
