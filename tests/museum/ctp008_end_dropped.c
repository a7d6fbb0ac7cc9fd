// SPDX-License-Identifier: MIT
// expect: CTP008 suspect, 1 coroutine
// end: timeout
//
// A loop over select looks whether a peer has ended what it sends, and forgets the
// waiter of such a connection: neither resumed, nor closed. There are no bytes to
// be read, but the end, of which nobody is told any more.
#include <poll.h>

#include "sets.h"

enum { CLIENTS = 3 };

static int clients[CLIENTS][2], lines;

static void conn_reader(void *arg)
{
	int fd = *(int *)arg;
	char line[64];
	ssize_t n;
	while ((n = read(fd, line, sizeof(line))) > 0 || co_blocked(n)) {
		if (n > 0)
			lines++;
		else
			sets_wait(0, fd);
	}
	close(fd);
}

static NOINLINE int has_ended(int fd)
{
	struct pollfd p = {.fd = fd, .events = POLLRDHUP};
	return poll(&p, 1, 0) == 1 && (p.revents & POLLRDHUP);
}

static NOINLINE void turn(void)
{
	fd_set came[2];
	if (sets_select(came) <= 0)
		return;
	for (int fd = 0; fd < SETS_MAX; fd++) {
		struct co *c = sets_take(0, fd, &came[0]);
		if (c && !has_ended(fd))
			co_resume(c);
	}
}

int main(void)
{
	for (int i = 0; i < CLIENTS; i++) {
		pair("tcp", clients[i]);
		co_start(conn_reader, &clients[i][0]);
	}
	for (int i = 0; i < CLIENTS; i++)
		must(write(clients[i][1], "HELO", 4));
	while (lines < CLIENTS)
		turn();
	must(shutdown(clients[1][1], SHUT_WR));
	while (sets_waiters[0][clients[1][0]])
		turn();
	say("ready");
	for (;;)
		turn();
}
