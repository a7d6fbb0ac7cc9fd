// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// engine: both
//
// Actors: whatever an actor waits for, it waits in its mailbox. Each was told
// that its connection has data, took it, and is done; that its one place to wait
// is where the connection's event found it says nothing.
#include "pooled.h"

static void actor(void *arg)
{
	int fd = *(int *)arg;
	bool asked = false;
	char request;
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield(); // the mailbox
		if (asked)
			continue;
		must(read(fd, &request, 1));
		asked = true;
		pooled[npooled++] = co_self();
	}
}

int main(void)
{
	open_conns(actor);
	for (int i = 0; i < WORKERS; i++) {
		must(write(conns[i][1], "?", 1));
		co_turn(ep, -1); // each event comes alone
	}
	close_conns();
}
