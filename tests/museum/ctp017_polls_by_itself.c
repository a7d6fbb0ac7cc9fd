// SPDX-License-Identifier: MIT
// expect: CTP017 likely, 1 coroutines
// engine: both
//
// A client library inside a coroutine waits with poll for its own descriptor,
// which is even non-blocking. The loop knows nothing of it, and sleeps too.
#include <poll.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2], mailbox[2], library[2];

static NOINLINE void library_wait(void)
{
	struct pollfd p = {.fd = library[0], .events = POLLIN};
	must(poll(&p, 1, -1)); // fault
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, conn[0], &byte, 1);
	must(write(library[0], "?", 1));
	library_wait();
	say("ready");
	co_read(ep, conn[0], &byte, 1);
}

static void other_conn(void *arg)
{
	uint64_t messages;
	(void)arg;
	co_read(ep, mailbox[0], &messages, sizeof(messages));
}

static void *far_server(void *arg)
{
	char query;
	(void)arg;
	while (co_blocked(read(library[1], &query, 1)))
		poll(&(struct pollfd){.fd = library[1], .events = POLLIN}, 1, -1);
	nap_ms(400);
	must(write(library[1], "!", 1));
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", conn);
	pair("eventfd", mailbox);
	pair("unix", library);
	co_thread(far_server, NULL);
	co_start(other_conn, NULL);
	co_start(conn_reader, NULL);
	must(write(conn[1], "g", 1));
	co_loop(ep);
}
