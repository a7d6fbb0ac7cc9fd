// SPDX-License-Identifier: MIT
// expect: CTP004 suspect, 1 coroutine
// end: timeout
//
// Connections are registered edge-triggered for both directions. To be fair, the server sends so much of a file
// in one turn, and waits for the next edge that tells of room: but room there was all the time.
#include "unread.h"

enum { TURN = 4096, FILE_BYTES = 3 * TURN };

static void send_file(struct conn *c)
{
	static const char file[FILE_BYTES];
	for (int at = 0; at < FILE_BYTES; at += TURN) {
		must(write(c->fd, file, TURN));
		c->waits = true;
		co_yield(); // fault
		c->waits = false;
	}
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[4];
	for (;;) {
		ssize_t n = read(c->fd, request, sizeof(request));
		if (n == 0)
			return;
		if (co_blocked(n)) {
			co_yield();
		} else if (request[0] == 'f') {
			send_file(c);
		} else {
			must(write(c->fd, "ok", 2));
			c->got++;
		}
	}
}

int main(void)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++)
		start_reader(i, serve, EPOLLIN | EPOLLOUT | EPOLLET);
	for (int i = 0; i < 2; i++) {
		send_text(i, "ping");
		while (!conns[i].got)
			turn(-1, resume_reader);
	}
	send_text(1, "file");
	while (!conns[1].waits)
		turn(-1, resume_reader);
	say("ready");
	for (;;) {
		send_text(0, "ping");
		turn(-1, resume_reader);
		turn(10, resume_reader);
	}
}
