// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// end: timeout
//
// Backpressure: whoever fills the inbox takes itself out of the set, and goes on reading until EAGAIN. The
// inbox is emptied, and nobody puts that one back. All events come together, so none tells whom it resumed.
#include "unread.h"

#define FULL 24

static int inbox, paused = -1;

static void produce(void *arg)
{
	struct conn *c = arg;
	char text[16];
	ssize_t n;
	for (;;) {
		while (co_blocked(n = read(c->fd, text, sizeof(text))))
			co_yield(); // fault
		if (n <= 0)
			return;
		c->got += (int)n;
		inbox += (int)n;
		if (inbox >= FULL && paused < 0) {
			paused = number_of(c);
			must(epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL));
		}
	}
}

static void empty_inbox(void)
{
	inbox = 0;
	paused = -1; // and without EPOLL_CTL_ADD
}

int main(void)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		start_reader(i, produce, EPOLLIN);
	for (int i = 0; i < 3; i++)
		send_text(i, "12345678");
	while (paused < 0)
		turn(-1, resume_reader);
	int who = paused;
	empty_inbox();
	send_text(who, "more");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
