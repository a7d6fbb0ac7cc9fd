// SPDX-License-Identifier: MIT
// expect: clean
//
// The acceptor waits for the next client on a listener that lives; each client
// it accepted has been answered and closed by the coroutine that served it.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CLIENTS 3

static int ep, listener, clients[CLIENTS], served;

static void serve(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char request[64];
	ssize_t n = co_read(ep, fd, request, sizeof(request));
	co_write(ep, fd, request, (size_t)n);
	close(fd);
	if (++served == CLIENTS)
		say("ready");
}

static void acceptor(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			co_start(serve, (void *)(intptr_t)fd);
		else
			co_wait(ep, listener, EPOLLIN);
	}
}

int main(void)
{
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor, NULL);
	for (int i = 0; i < CLIENTS; i++) {
		clients[i] = tcp_connect(port);
		must(write(clients[i], "ping", 4));
	}
	co_loop(ep);
}
