// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// The peer has gone before a worker begins: it registers, reads the end, and is
// done without ever having been suspended.
#include "pooled.h"

static void worker(void *arg)
{
	int *conn = arg;
	char byte;
	close(conn[1]);
	co_watch(ep, conn[0], EPOLLIN | EPOLLET, co_self());
	must(read(conn[0], &byte, 1));
	for (;;)
		back_to_pool();
}

int main(void)
{
	open_conns(worker);
	close_conns();
}
