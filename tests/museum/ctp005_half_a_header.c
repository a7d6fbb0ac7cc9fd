// SPDX-License-Identifier: MIT
// expect: CTP005 suspect, 1 coroutine
// end: timeout
//
// Frames of four bytes over one-shot registrations. A frame that came in two halves is waited for without
// arming the registration again; another client goes on.
#include "unread.h"

static NOINLINE bool read_frame(struct conn *c, char frame[4])
{
	for (int got = 0; got < 4;) {
		ssize_t n = read(c->fd, frame + got, (size_t)(4 - got));
		if (co_blocked(n)) {
			watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
			co_yield();
		} else if (n <= 0) {
			return false;
		} else if ((got += (int)n) < 4) {
			co_yield(); // fault
		}
	}
	return true;
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char frame[4];
	while (read_frame(c, frame)) {
		c->got++;
		must(write(c->fd, "ok", 2));
	}
}

int main(void)
{
	chat(0);
	make_conn(1);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, serve, EPOLLIN | EPOLLONESHOT);
	send_text(1, "GET1GE");
	while (!conns[1].got || conns[0].got < 5)
		turn(-1, resume_reader);
	send_text(1, "T2");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
