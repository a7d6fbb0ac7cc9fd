// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
//
// Actors whose events come all at once, so that nothing tells whom each one woke:
// but the registration points to its actor, which took what there was and waits
// in its mailbox for something else.
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
	for (int i = 0; i < WORKERS; i++)
		must(write(conns[i][1], "?", 1));
	close_conns();
}
