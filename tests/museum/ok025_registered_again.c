// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The loop is reset, and every waiter's descriptor is registered again in the
// new set, with the data it had.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3][2], reload;
static struct co *readers[3];

static void conn_reader(void *arg)
{
	char buf[256];
	int i = (int)(intptr_t)arg;
	readers[i] = co_self();
	while (co_read(ep, conns[i][0], buf, sizeof(buf)) > 0)
		;
}

static void on_reload(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, reload, &n, sizeof(n)));
	close(ep);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		co_watch(ep, conns[i][0], EPOLLIN | EPOLLONESHOT, readers[i]);
	say("ready");
	must(co_read(ep, reload, &n, sizeof(n)));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	reload = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(on_reload, NULL);
	for (int i = 0; i < 3; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, (void *)(intptr_t)i);
	}
	must(write(reload, &(uint64_t){1}, 8));
	for (;;)
		co_turn(ep, -1);
}
