// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// What is registered for one event is taken out of the set with it. Who has read half a line waits for the
// rest, and does not register again. The others wait for their next line.
#include "unread.h"

static void serve(void *arg)
{
	struct conn *c = arg;
	char line[64];
	for (;;) {
		ssize_t n = read(c->fd, line, sizeof(line));
		if (co_blocked(n)) {
			watch_conn(number_of(c), EPOLL_CTL_ADD, EPOLLIN);
			co_yield();
		} else if (n <= 0) {
			return;
		} else if (line[n - 1] != '\n') {
			c->waits = true;
			co_yield(); // fault
		} else {
			c->got++;
		}
	}
}

static void come(int i)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, conns[i].fd, NULL));
	co_resume(conns[i].co);
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		conns[i].co = co_new(serve, &conns[i]);
		co_resume(conns[i].co);
		send_text(i, "hello\n");
	}
	while (!conns[0].got || !conns[1].got || !conns[2].got)
		turn(-1, come);
	send_text(2, "how are ");
	while (!conns[2].waits)
		turn(-1, come);
	send_text(2, "you\n");
	say("ready");
	for (;;)
		turn(-1, come);
}
