// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
//
// Each worker registers its connection, takes the request that is there already
// by a system call of its own, which nobody sees, and goes back to the pool. The
// whole program is quiet then, as it is when there is no work.
#include <sys/syscall.h>

#include "pooled.h"

static void worker(void *arg)
{
	int fd = *(int *)arg;
	char request;
	must(write(((int *)arg)[1], "?", 1)); // its peer, ahead of it
	co_watch(ep, fd, EPOLLIN, co_self());
	must(syscall(SYS_read, fd, &request, 1));
	for (;;)
		back_to_pool();
}

int main(void)
{
	open_conns(worker);
	close_conns();
}
