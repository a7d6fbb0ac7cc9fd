// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// One request, one answer: a worker has read what it wanted and asks for no
// more, so that no read says EAGAIN after it.
#include "pooled.h"

static void worker(void *arg)
{
	int fd = *(int *)arg;
	char request;
	co_watch(ep, fd, EPOLLIN | EPOLLET, co_self());
	while (read(fd, &request, 1) == -1)
		co_yield();
	must(write(fd, "!", 1));
	for (;;)
		back_to_pool();
}

int main(void)
{
	open_conns(worker);
	for (int i = 0; i < WORKERS; i++)
		must(write(conns[i][1], "?", 1));
	close_conns();
}
