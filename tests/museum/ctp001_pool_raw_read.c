// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
//
// As in ctp001_mailbox, but what an actor is sent it takes by a system call of its
// own, which nobody sees. The whole program is quiet then, as it is when there is no
// work.
#include <sys/syscall.h>

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
		must(syscall(SYS_read, fd, &request, 1));
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
