// SPDX-License-Identifier: MIT
// expect: CTP008 suspect, 1 coroutine
// end: timeout
//
// A loop stops a watcher before it resumes the waiter, and drops the row when an event comes for a stopped
// one, as libev does; it sleeps with a timeout of a minute. A reader that is woken in vain waits again without
// starting its watcher. All events come together, so none tells whom it resumed.
#include "unread.h"

enum { MINUTE_MS = 60000 };

static void serve(void *arg)
{
	struct conn *c = arg;
	char text[16];
	for (;;) {
		c->waits = true;
		while (co_blocked(read(c->fd, text, sizeof(text))))
			co_yield(); // fault
		c->got++;
	}
}

static void come(int i)
{
	if (!conns[i].waits) {
		must(epoll_ctl(ep, EPOLL_CTL_DEL, conns[i].fd, NULL));
		return;
	}
	conns[i].waits = false;
	co_resume(conns[i].co);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		start_reader(i, serve, EPOLLIN);
	for (int i = 0; i < 3; i++)
		send_text(i, "one");
	while (!conns[0].got || !conns[1].got || !conns[2].got)
		turn(-1, come);
	come(1); // in vain
	send_text(1, "two");
	turn(-1, come);
	say("ready");
	for (;;)
		turn(MINUTE_MS, come);
}
