// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A worker drains the connection that it was given until EAGAIN, and goes back
// to the pool: it waits for any connection there, not for its last one.
#include "dispatcher.h"

#define CONNS 4

static void worker(void *arg)
{
	char buf[64];
	(void)arg;
	for (;;) {
		struct conn *c = next_conn();
		while (read(c->fd, buf, sizeof(buf)) > 0)
			c->requests++;
	}
}

int main(void)
{
	static struct conn conns[CONNS];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++)
		open_conn(&conns[i], EPOLLIN | EPOLLET); // before there are workers
	for (int i = 0; i < 3; i++)
		co_start(worker, NULL);
	for (int i = 0; i < 2 * CONNS; i++)
		request(&conns[i % CONNS]);
	reap(conns, CONNS);
}
