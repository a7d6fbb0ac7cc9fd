// SPDX-License-Identifier: MIT
// expect: CTP004 suspect, 1 coroutine
// end: timeout
//
// A loop that never sleeps, edge-triggered. A player takes one packet for each event. The events of two came
// together, so none tells whom it resumed; one of them sent two packets at once, and waits for its answer.
#include "unread.h"

static void play(void *arg)
{
	struct conn *c = arg;
	char packet[8];
	for (;;) {
		co_yield(); // fault
		if (read(c->fd, packet, sizeof(packet)) == 0)
			return;
		c->got++;
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, play, EPOLLIN | EPOLLET);
	for (int i = 0; i < 2; i++)
		send_text(i, "movejumpmovejump" + (i ? 0 : 8));
	while (!conns[0].got || !conns[1].got)
		turn(0, resume_reader);
	say("ready");
	for (;;)
		turn(0, resume_reader);
}
