// SPDX-License-Identifier: MIT
// expect: CTP006 suspect, 1 coroutine
// engine: both
//
// As connections end, a supervisor closes them; the loop itself opens the next
// one and starts a reader for it. The old reader, woken by hand, reads the number it knew.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	int fds[2];
	struct co *reader;
} conns[2];
static int ep;

static void conn_reader(void *arg)
{
	struct conn *c = arg;
	char buf[8];
	c->reader = co_self();
	co_read(ep, c->fds[0], buf, sizeof(buf));
}

static void supervisor(struct conn *c)
{
	close(c->fds[0]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conns[0].fds);
	co_start(conn_reader, &conns[0]);
	supervisor(&conns[0]);
	pair("unix", conns[1].fds);
	co_start(conn_reader, &conns[1]);
	must(write(conns[1].fds[1], "mail", 4));
	co_resume(conns[0].reader);
	say("ready");
	co_loop(ep);
}
