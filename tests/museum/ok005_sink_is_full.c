// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A relay over one-shot registrations. Its source is not armed again while the sink takes nothing; what the
// source has sent meanwhile stays unread. The sink's writer, which waits for room, resumes the reader then.
#include "unread.h"

enum { SOURCE, SINK };
static char block[65536];
static size_t left;

static void relay(void *arg)
{
	struct conn *c = arg;
	for (;;) {
		ssize_t n = read(c->fd, block, 64);
		if (co_blocked(n)) {
			watch_conn(SOURCE, EPOLL_CTL_MOD, EPOLLIN | EPOLLONESHOT);
			co_yield();
			continue;
		}
		if (n <= 0)
			return;
		left = sizeof(block);
		co_resume(conns[SINK].co);
		while (left) {
			c->waits = true;
			co_yield(); // until the sink has it
		}
	}
}

static void sink(void *arg)
{
	struct conn *c = arg;
	for (;;) {
		ssize_t n = left ? write(c->fd, block, left) : 0;
		left -= n > 0 ? (size_t)n : 0;
		if (left)
			watch_conn(SINK, EPOLL_CTL_MOD, EPOLLOUT | EPOLLONESHOT);
		co_yield();
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	while (write(conns[SINK].fd, block, sizeof(block)) > 0) // its reader is slow
		;
	start_reader(SINK, sink, 0);
	start_reader(SOURCE, relay, EPOLLIN | EPOLLONESHOT);
	send_text(SOURCE, "text");
	while (!conns[SOURCE].waits)
		turn(-1, resume_reader);
	send_text(SOURCE, "more");
	say("ready");
	for (;;)
		turn(-1, resume_reader);
}
