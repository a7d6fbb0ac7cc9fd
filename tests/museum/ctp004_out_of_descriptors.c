// SPDX-License-Identifier: MIT
// expect: CTP004 suspect..likely, 1 coroutine
// engine: both
//
// An edge-triggered listener. The acceptor takes connections until it is told that there
// are no more, or that no descriptor is free; it waits then in the same way. The
// connections in the backlog make no edge when others have gone, and their clients
// wait for an answer.
#include "backlog.h"

#define FREE 2
#define CLIENTS 5

static void conn_ended(void)
{
}

static int next_connection(void)
{
	int fd;
	while ((fd = take_one()) < 0)
		co_yield(); // fault
	return fd;
}

static void acceptor_main(void *arg)
{
	(void)arg;
	co_watch(ep, listener, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		serve(next_connection());
	}
}

int main(void)
{
	int clients[CLIENTS];
	run_out(acceptor_main, clients, CLIENTS, 1, FREE);
	close(clients[0]);
	close(clients[1]);
	while (live > FREE - 1)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
