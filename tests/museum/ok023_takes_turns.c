// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Eight acceptors of one listener, and a loop that resumes only the first of them
// for each event; it goes to the end of the queue.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define ACCEPTORS 8

static int ep, port, next;
static struct co_handler listener;
static struct co *acceptors[ACCEPTORS];

static void acceptor(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK);
		if (fd < 0)
			co_yield();
		else
			close(fd);
	}
}

static void on_connection(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
	co_resume(acceptors[next++ % ACCEPTORS]);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = (struct co_handler){.fn = on_connection, .fd = tcp_listen(&port)};
	co_handle(ep, &listener, EPOLLIN);
	for (int i = 0; i < ACCEPTORS; i++)
		co_resume(acceptors[i] = co_new(acceptor, NULL));
	for (int i = 0; i < 20; i++) {
		close(tcp_connect(port));
		co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}
