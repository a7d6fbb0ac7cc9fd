// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
//
// An event of its connection wakes a worker, which reads until EAGAIN and goes
// back to the pool, where it has never been before: that it was told EAGAIN does
// not say that it waits for more. The whole program is quiet then.
#include "pooled.h"

static void worker(void *arg)
{
	int fd = *(int *)arg;
	char buf[16];
	co_wait(ep, fd, EPOLLIN | EPOLLET);
	while (read(fd, buf, sizeof(buf)) > 0)
		;
	for (;;)
		back_to_pool();
}

int main(void)
{
	open_conns(worker);
	for (int i = 0; i < WORKERS; i++) {
		must(write(conns[i][1], "?", 1));
		co_turn(ep, -1); // each event comes alone
	}
	close_conns();
}
