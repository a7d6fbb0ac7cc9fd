// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
//
// As in ok001_pool_rearmed, but there is one worker and one connection: the
// worker arms it again for whoever comes next. The whole program is quiet when the
// connection is closed.
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
	open_conn(&conn, EPOLLIN | EPOLLONESHOT); // before there is a worker
	co_start(worker, NULL);
	for (int i = 0; i < 3; i++)
		request(&conn);
	reap(&conn, 1);
}
