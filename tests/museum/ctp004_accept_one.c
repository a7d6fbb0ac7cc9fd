// SPDX-License-Identifier: MIT
// expect: CTP004 suspect, 1 coroutine
// end: timeout
//
// An edge-triggered listener, one accept for each event. Three clients connect
// before the loop turns: one event, one accept, and two stay in the backlog
// until a fourth comes.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, listener;

static void on_accept(int fd)
{
	if (fd >= 0)
		close(fd);
}

static void acceptor(void *arg)
{
	(void)arg;
	co_watch(ep, listener, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield(); // fault
		on_accept(accept(listener, NULL, NULL));
	}
}

int main(void)
{
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor, NULL);
	for (int i = 0; i < 3; i++)
		must(tcp_connect(port));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
