// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Woken, a worker reads the end of its connection, and is done with it.
#include "pooled.h"

static void worker(void *arg)
{
	int fd = *(int *)arg;
	char buf[16];
	ssize_t n;
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	while ((n = read(fd, buf, sizeof(buf))) != 0)
		if (n == -1)
			co_yield();
	for (;;)
		back_to_pool();
}

int main(void)
{
	open_conns(worker);
	for (int i = 0; i < WORKERS; i++)
		close(conns[i][1]);
	close_conns();
}
