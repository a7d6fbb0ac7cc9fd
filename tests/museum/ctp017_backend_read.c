// SPDX-License-Identifier: MIT
// expect: CTP017 likely, 1 coroutines
// engine: both
//
// The backend's socket was made without SOCK_NONBLOCK. While it takes its time
// over an answer, the coroutine that asked puts the whole loop to sleep.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], other[2], backend[2];

static NOINLINE void ask_backend(char *answer)
{
	must(write(backend[0], "?", 1));
	must(read(backend[0], answer, 1)); // fault
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	ask_backend(&byte);
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

static void idle_conn(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, other[0], &byte, 1);
}

static void *backend_server(void *arg)
{
	char query;
	(void)arg;
	must(read(backend[1], &query, 1));
	nap_ms(400); // a slow query
	must(write(backend[1], "!", 1));
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, backend));
	pair("tcp", conn);
	pair("tcp", other);
	co_thread(backend_server, NULL);
	co_start(idle_conn, NULL);
	co_start(conn_reader, NULL);
	must(write(conn[1], "g", 1));
	co_loop(ep);
}
