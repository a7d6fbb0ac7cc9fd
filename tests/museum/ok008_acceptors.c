// SPDX-License-Identifier: MIT
// expect: clean
//
// Three acceptors of one listener, edge-triggered and in one row. The event
// resumes the first, who takes the connection; the others wait on, rightly.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define ACCEPTORS 3

static struct co *waiting[ACCEPTORS];
static int ep, listener, nwaiting;

static void acceptor(void *arg)
{
	(void)arg;
	for (;;) {
		int fd = accept(listener, NULL, NULL);
		if (fd >= 0) {
			close(fd);
		} else {
			waiting[nwaiting++] = co_self();
			co_yield();
		}
	}
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1 && nwaiting)
		co_resume(waiting[--nwaiting]);
}

int main(void)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	for (int i = 0; i < ACCEPTORS; i++)
		co_start(acceptor, NULL);
	must(tcp_connect(port));
	turn();
	say("ready");
	for (;;)
		turn();
}
