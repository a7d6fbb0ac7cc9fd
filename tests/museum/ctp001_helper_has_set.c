// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 3 coroutines
// expect: also CTP026
//
// A server starts a helper, another program, which inherits its epoll set: it was not made to close on exec. A
// reaper closes connections under their readers. That the helper has the set changes nothing for them.
#include "helper.h"

static struct conn {
	int fd;
	struct co *co;
} conns[3];

static void conn_reader(void *arg)
{
	struct conn *c = arg;
	char buf[64];
	while (co_read(ep, c->fd, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE void open_conn(struct conn *c)
{
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->co = co_new(conn_reader, c);
	co_resume(c->co);
}

static NOINLINE void reap(void)
{
	for (int i = 0; i < 3; i++)
		close(conns[i].fd); // fault
}

int main(int argc, char **argv)
{
	if (is_helper(argc, argv))
		help();
	make_set_and_helper(argv[0]);
	for (int i = 0; i < 3; i++)
		open_conn(&conns[i]);
	reap();
	say("ready");
	co_loop(ep);
}
