// SPDX-License-Identifier: MIT
// expect: CTP023 suspect, 1 coroutine
//
// Six acceptors, each with a duplicate of the listener of its own, all in one set: each
// connection makes all six numbers readable, and five are woken in vain.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define ACCEPTORS 6
#define CONNECTIONS 5

static int ep, accepted;

static void acceptor(void *arg)
{
	int listener = (int)must(dup(*(int *)arg));
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
		if (fd < 0) {
			co_wait(ep, listener, EPOLLIN); // fault
			continue;
		}
		accepted++;
		close(fd);
	}
}

int main(void)
{
	int port, listener = tcp_listen(&port);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < ACCEPTORS; i++)
		co_start(acceptor, &listener);
	for (int i = 1; i <= CONNECTIONS; i++) {
		close(tcp_connect(port));
		while (accepted < i)
			co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}
