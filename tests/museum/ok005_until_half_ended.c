// SPDX-License-Identifier: MIT
// expect: CTP005 none..suspect, 1 coroutine
// engine: both
// order: SIGUSR1
//
// A server that had no descriptor free. Its acceptor was told so, and waits until half of
// the connections have ended, so as not to be told again at once: one has, the others
// are idle, and some wait in the backlog. The order lets another client go.
#include "backlog.h"
#include "ordered.h"

#define FREE 4
#define CLIENTS 6

static struct co *paused;

static void conn_ended(void)
{
	if (live > FREE / 2)
		return;
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
