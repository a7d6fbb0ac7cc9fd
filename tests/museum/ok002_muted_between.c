// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A loop that never sleeps. Who has spoken too much takes its own interest away, and waits until it is given
// back, which takes a while. So it was before. What it said since lies there unread.
#include "unread.h"

static void mute(struct conn *c)
{
	watch_conn(number_of(c), EPOLL_CTL_MOD, 0);
	c->waits = true;
	co_yield();
	c->waits = false;
}

static void speak(void *arg)
{
	struct conn *c = arg;
	char text[5];
	for (;;) {
		ssize_t n = read(c->fd, text, sizeof(text));
		if (n == 0)
			return;
		if (co_blocked(n)) {
			co_yield();
			continue;
		}
		c->got++;
		if (text[0] == '!')
			mute(c);
	}
}

static void restore(int i)
{
	watch_conn(i, EPOLL_CTL_MOD, EPOLLIN);
	co_resume(conns[i].co);
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, speak, EPOLLIN);
	for (int i = 0; i < 2; i++)
		send_text(i, "hello");
	while (!conns[0].got || !conns[1].got)
		turn(0, resume_reader);
	for (int i = 0; i < 2; i++) {
		send_text(1, "!very");
		while (!conns[1].waits)
			turn(0, resume_reader);
		send_text(1, "again");
		if (i == 0)
			restore(1);
	}
	say("ready");
	for (unsigned long turns = 0;; turns++) {
		if (turns % 10000 == 0)
			send_text(0, "hello");
		turn(0, resume_reader);
	}
}
