// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Connections are one-shot. A worker reads one request of the one that it was
// given, arms it again for whoever comes next, and goes back to the pool.
#include "dispatcher.h"

static void worker(void *arg)
{
	char job[3];
	(void)arg;
	for (;;) {
		struct conn *c = next_conn();
		struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = c};
		must(read(c->fd, job, sizeof(job)));
		must(epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev));
	}
}

int main(void)
{
	static struct conn conn;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		co_start(worker, NULL);
	open_conn(&conn, EPOLLIN | EPOLLONESHOT);
	for (int i = 0; i < 3; i++)
		request(&conn);
	reap(&conn, 1);
}
