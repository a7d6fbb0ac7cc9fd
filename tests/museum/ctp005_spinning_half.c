// SPDX-License-Identifier: MIT
// expect: CTP005 suspect, 1 coroutine
// end: timeout
//
// A loop that never sleeps, and one-shot registrations. A command that came in two halves is waited for
// without arming the registration again. Two players' first commands come together.
#include "unread.h"

static void play(void *arg)
{
	struct conn *c = arg;
	char command[5];
	int at = 0;
	for (;;) {
		ssize_t n = read(c->fd, command + at, (size_t)(5 - at));
		if (n == 0)
			return;
		if (n > 0 && (at += (int)n) < 5) {
			co_yield(); // fault
			continue;
		}
		c->got += n > 0;
		at = n > 0 ? 0 : at;
		watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
		co_yield();
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, play, EPOLLIN | EPOLLONESHOT);
	for (int i = 0; i < 2; i++)
		send_text(i, "move1");
	while (!conns[0].got || !conns[1].got)
		turn(0, resume_reader);
	send_text(1, "mov");
	for (int i = 0; i < 1000; i++)
		turn(0, resume_reader);
	send_text(1, "e2");
	say("ready");
	for (unsigned long turns = 0;; turns++) {
		if (turns % 10000 == 0)
			send_text(0, "move3");
		turn(0, resume_reader);
	}
}
