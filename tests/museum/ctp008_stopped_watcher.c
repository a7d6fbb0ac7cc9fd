// SPDX-License-Identifier: MIT
// expect: CTP008 suspect, 1 coroutine
// end: timeout
//
// A loop leaves the row of a watcher that was stopped until an event of it comes, and deletes it then. A
// client that idles is told so at its deadline, and waits on: but its watcher is not started again.
#include "stopped.h"

UNREAD void wait_line(struct conn *c)
{
	start(number_of(c));
	c->waits = true;
	co_yield();
}

UNREAD void idle(struct conn *c)
{
	wait_line(c);
	while (late[number_of(c)]) {
		must(write(c->fd, "still here\n", 11));
		co_yield(); // fault
	}
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char line[64];
	for (;;) {
		ssize_t n = read(c->fd, line, sizeof(line));
		if (co_blocked(n)) {
			wait_line(c);
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
			if (!memcmp(line, "IDLE", 4))
				idle(c);
		}
	}
}

// Of no watcher: it was stopped.
UNREAD void take(int i)
{
	if (!conns[i].waits) {
		stop(i);
		return;
	}
	conns[i].waits = false;
	co_resume(conns[i].co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		make_conn(i);
		conns[i].co = co_new(serve, &conns[i]);
		co_resume(conns[i].co);
		send_text(i, i == 2 ? "IDLE\n" : "NOOP\n");
		while (!conns[i].got)
			turn(-1, take);
	}
	late[2] = true;
	conns[2].waits = false;
	co_resume(conns[2].co); // its deadline
	send_text(2, "DONE\n");
	say("ready");
	for (;;)
		turn(-1, take);
}
