// SPDX-License-Identifier: MIT
// expect: clean
//
// A client library that knows nothing of coroutines waits for its answer by
// poll, inside one, and so stops the whole loop; what came meanwhile for the
// others waits in the epoll set. A descriptor that only it polled is closed.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conns[2][2], backend[2], ask[2];

static void conn_reader(void *arg)
{
	char line[64];
	while (co_read(ep, *(int *)arg, line, sizeof(line)) > 0)
		;
}

static NOINLINE void query(void)
{
	struct pollfd answer = {.fd = backend[0], .events = POLLIN};
	char row[64];
	must(write(backend[1], "row", 3));
	must(poll(&answer, 1, -1));
	must(read(backend[0], row, sizeof(row)));
	poll(&answer, 1, 0);
	close(backend[0]);
}

static void handler(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, ask[0], &byte, 1);
	pair("unix", backend);
	query();
	say("ready");
	co_read(ep, ask[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(conn_reader, &conns[i][0]);
	}
	pair("pipe", ask);
	co_start(handler, NULL);
	must(write(ask[1], "", 1));
	co_loop(ep);
}
