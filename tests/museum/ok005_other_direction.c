// SPDX-License-Identifier: MIT
// expect: clean
//
// A socket has one row for each direction, the writer's under a dup. The
// writer's one-shot row has fired, and nobody waits for it; the reader's is
// armed. Edge-triggered and one-shot at once, idle otherwise.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn, conn_out, told;

static void reader(void *arg)
{
	char buf[64];
	(void)arg;
	for (;;) {
		while (read(conn, buf, sizeof(buf)) > 0)
			;
		co_watch(ep, conn, EPOLLIN | EPOLLET | EPOLLONESHOT, co_self());
		co_yield();
	}
}

static void on_writable(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
	told = 1;
}

int main(void)
{
	static struct co_handler writable = {.fn = on_writable};
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	conn = fds[0];
	writable.fd = conn_out = (int)must(dup(conn));
	co_start(reader, NULL);
	co_handle(ep, &writable, EPOLLOUT | EPOLLET | EPOLLONESHOT);
	while (!told)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
