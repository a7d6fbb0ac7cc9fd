// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A loop that never sleeps, and one-shot registrations. A player whose move is with the referee is not armed
// again until the referee has decided; it was so before, and the referee takes its time. Its next move is
// there already, unread.
#include "unread.h"

static void play(void *arg)
{
	struct conn *c = arg;
	char packet[8];
	for (;;) {
		watch_conn(number_of(c), EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
		co_yield();
		if (read(c->fd, packet, 4) == 0)
			return;
		c->waits = true;
		co_yield(); // until the referee has decided
		c->waits = false;
		c->got++;
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, play, EPOLLIN | EPOLLONESHOT);
	for (int i = 0; i < 2; i++) {
		send_text(i, "move");
		while (!conns[i].waits)
			turn(0, resume_reader);
		co_resume(conns[i].co); // decided
	}
	send_text(1, "jump");
	while (!conns[1].waits)
		turn(0, resume_reader);
	send_text(1, "move");
	say("ready");
	for (;;)
		turn(0, resume_reader);
}
