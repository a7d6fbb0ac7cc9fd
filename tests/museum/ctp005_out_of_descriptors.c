// SPDX-License-Identifier: MIT
// expect: CTP005 suspect..likely, 1 coroutine
//
// An acceptor that arms its listener for one connection at a time. When no descriptor
// is free it waits until a connection ends, without the listener. Who ends a connection
// resumes it only if the server's own limit had been reached, which is higher than
// what the process may open.
#include "backlog.h"

#define FREE 2
#define LIMIT 100
#define CLIENTS 4

static struct co *acceptor;

static void conn_ended(void)
{
	if (live == LIMIT - 1)
		co_resume(acceptor);
}

static void until_one_ends(void)
{
	co_yield(); // fault
}

static int next_connection(void)
{
	for (;;) {
		co_wait(ep, listener, EPOLLIN | EPOLLONESHOT);
		int fd = take_one();
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
		serve(next_connection());
		while (live >= LIMIT)
			co_yield();
	}
}

int main(void)
{
	int clients[CLIENTS];
	run_out(acceptor_main, clients, CLIENTS, 0, FREE);
	close(clients[0]);
	while (live == FREE)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
