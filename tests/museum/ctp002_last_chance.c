// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// A loop takes a watcher that was stopped out of its set after the turn. Who was not answered in time gets a last
// chance, and waits again: but its watcher is not started again, and the answer stays unread.
#include "unread.h"

static bool late[3], started[3];

static void start(int i)
{
	if (!started[i])
		watch_conn(i, EPOLL_CTL_ADD, EPOLLIN);
	started[i] = true;
}

static void stop(int i)
{
	started[i] = false;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, conns[i].fd, NULL));
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char line[64];
	for (;;) {
		ssize_t n = read(c->fd, line, sizeof(line));
		if (co_blocked(n)) {
			start(number_of(c));
			co_yield();
			if (late[number_of(c)]) {
				c->waits = true;
				co_yield(); // fault
			}
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
		}
	}
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
		while (!conns[i].got)
			turn(-1, resume_reader);
	}
	late[2] = true;
	co_resume(conns[2].co); // its time is up
	stop(2);
	send_text(2, "here I am\n");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
