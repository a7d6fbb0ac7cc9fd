// SPDX-License-Identifier: MIT
// expect: CTP004 suspect..likely, 1 coroutine
// engine: both
//
// A proxy with its upstream edge-triggered and its client registered level-
// triggered for good. The session takes one record from the upstream for each
// event; the rest of what came makes no event any more.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, client, upstream;

static void serve(void *arg)
{
	char record[4];
	(void)arg;
	co_watch(ep, client, EPOLLIN | EPOLLRDHUP, co_self());
	co_watch(ep, upstream, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield(); // fault
		if (read(upstream, record, sizeof(record)) <= 0)
			return;
		must(write(client, record, sizeof(record)));
	}
}

int main(void)
{
	int fds[2], backend;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	client = fds[0];
	pair("unix", fds);
	upstream = fds[0];
	backend = fds[1];
	co_start(serve, NULL);
	must(write(backend, "one1", 4));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(backend, "two1two2", 8));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
