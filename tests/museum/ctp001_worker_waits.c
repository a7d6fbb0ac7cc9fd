// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
//
// The same pool, and a request that comes in two parts: the worker waits for the
// second one, outside of the pool, when the reaper closes its connection.
#include "dispatcher.h"

static void on_second_part(struct conn *c)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = c};
	char part[3];
	c->waiter = co_self();
	must(epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev));
	co_yield(); // fault
	c->waiter = NULL;
	must(read(c->fd, part, sizeof(part)));
	must(epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev));
}

static void worker(void *arg)
{
	char part[3];
	(void)arg;
	for (;;) {
		struct conn *c = next_conn();
		must(read(c->fd, part, sizeof(part)));
		on_second_part(c);
	}
}

int main(void)
{
	static struct conn conns[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		co_start(worker, NULL);
	for (int i = 0; i < 2; i++)
		open_conn(&conns[i], EPOLLIN | EPOLLONESHOT);
	for (int i = 0; i < 5; i++)
		request(&conns[0]); // each second time it is the second part
	close(conns[0].fd); // fault
	say("ready");
	for (;;)
		dispatch();
}
