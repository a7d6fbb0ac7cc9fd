// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The loop arms the one-shot row after the switch, on the coroutine's behalf.
// Between the switch and that the row is dead, and always alive when the loop
// sleeps.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[3];

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_scheduler_registers = true;
	for (int i = 0; i < 3; i++) {
		int fds[2];
		pair("unix", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
		must(write(fds[1], "hello", 5));
		must(co_turn(ep, -1) ? 0 : -1);
	}
	say("ready");
	co_loop(ep);
}
