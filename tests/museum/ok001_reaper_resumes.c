// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// patched: slot struct
//
// The reaper closes idle connections under their readers, and in the same turn
// resumes each reader by hand: it sees EBADF and ends.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct conn {
	int fd;
	struct co *co;
} conns[4];
static int ep;

static void conn_reader(void *arg)
{
	struct conn *conn = arg;
	char buf[64];
	while (co_read(ep, conn->fd, buf, sizeof(buf)) > 0)
		;
}

static void reap(struct conn *conn)
{
	close(conn->fd);
	co_resume(conn->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 4; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i].fd = fds[0];
		conns[i].co = co_new(conn_reader, &conns[i]);
		co_resume(conns[i].co);
	}
	for (int i = 0; i < 3; i++)
		reap(&conns[i]);
	say("ready");
	co_loop(ep);
}
