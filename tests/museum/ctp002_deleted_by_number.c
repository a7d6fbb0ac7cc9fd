// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// Who hangs up closes its descriptor, and the row is deleted by its number at the end of the turn. By then
// that is the number of the next call, whose row goes before it first waits. What its caller sends is unread.
#include <sys/socket.h>

#include "unread.h"

static int closed = -1;

static void serve(void *arg)
{
	struct conn *c = arg;
	char line[64];
	for (;;) {
		ssize_t n = read(c->fd, line, sizeof(line));
		if (co_blocked(n))
			co_yield(); // fault
		else if (n <= 0)
			break;
		else
			c->got++;
	}
	closed = c->fd;
	close(c->fd);
}

static NOINLINE void clean_up(void)
{
	epoll_ctl(ep, EPOLL_CTL_DEL, closed, NULL); // fault
}

// The lowest numbers that are free, until it is that one.
static NOINLINE void new_call(struct conn *c)
{
	int fds[2];
	do
		must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds));
	while (fds[0] != closed && fds[1] != closed);
	c->fd = closed;
	c->peer = fds[fds[0] == closed];
	c->co = co_new(serve, c);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		make_conn(i);
		start_reader(i, serve, EPOLLIN);
	}
	send_text(1, "INVITE\n");
	while (!conns[1].got)
		turn(-1, resume_reader);
	close(conns[0].peer);
	while (closed < 0)
		turn(-1, resume_reader);
	new_call(&conns[3]);
	watch_conn(3, EPOLL_CTL_ADD, EPOLLIN);
	clean_up();
	resume_reader(3);
	send_text(3, "INVITE\n");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
