// SPDX-License-Identifier: MIT
// expect: CTP025 likely..proven, 3 coroutines
// engine: both
//
// On reload the loop starts afresh with a new epoll set. What the connections'
// readers had registered was in the old one, and nobody registers it again:
// they sleep on, although their clients talk to them.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3][2], reload;

static void conn_reader(void *arg)
{
	char buf[256];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE void loop_reset(void)
{
	close(ep); // fault
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
}

static void on_reload(void *arg)
{
	uint64_t n;
	(void)arg;
	for (;;) {
		must(co_read(ep, reload, &n, sizeof(n)));
		loop_reset();
		for (int i = 0; i < 3; i++)
			must(write(conns[i][1], "hello", 5));
		say("ready");
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	reload = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(on_reload, NULL);
	for (int i = 0; i < 3; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	must(write(reload, &(uint64_t){1}, 8));
	for (;;)
		co_turn(ep, -1);
}
