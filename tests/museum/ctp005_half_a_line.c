// SPDX-License-Identifier: MIT
// expect: CTP005 suspect, 1 coroutine
// end: timeout
//
// Lines over one-shot registrations, under a loop that wakes by itself all the time. Who has read a part of a
// line goes back to wait, and does not arm the registration again; another client goes on.
#include "unread.h"

static NOINLINE void park(struct conn *c)
{
	c->waits = true;
	co_yield();
	c->waits = false;
}

static NOINLINE bool read_line(struct conn *c)
{
	char part[8];
	watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
	park(c);
	for (;;) {
		ssize_t n = read(c->fd, part, sizeof(part));
		if (co_blocked(n)) {
			watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
			park(c);
			continue;
		}
		if (n <= 0)
			return false;
		c->got += (int)n;
		if (c->got % 4 == 0)
			return true;
		park(c); // fault
	}
}

static void serve(void *arg)
{
	struct conn *c = arg;
	while (read_line(c))
		must(write(c->fd, "ok", 2));
}

static void resume_waiting(int i)
{
	if (conns[i].waits)
		resume_reader(i);
}

int main(void)
{
	chat(0);
	make_conn(1);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, serve, EPOLLIN | EPOLLONESHOT);
	send_text(1, "lin");
	while (!conns[1].got || conns[0].got < 20)
		turn(100, resume_waiting);
	send_text(1, "\n");
	say("ready");
	for (;;)
		turn(100, resume_waiting);
}
