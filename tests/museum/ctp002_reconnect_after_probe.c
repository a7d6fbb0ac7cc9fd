// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 2 coroutines
//
// At its start a database client finds out whether a port is free: it listens there,
// and closes that, before it has any coroutine. Nothing drains because of it. Then
// its server hangs up, both sessions connect again, and change a row that the new
// connection does not have. The set is empty, and the loop sleeps for ever.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 2

static struct session {
	int fd, registered, connects;
} sessions[SESSIONS];
static int ep, server, port, links[SESSIONS];

static void wait_readable(struct session *s)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = co_self()};
	epoll_ctl(ep, s->registered ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, s->fd, &ev);
	s->registered = 1;
	co_yield(); // fault
}

static void run_session(void *arg)
{
	struct session *s = arg;
	char row[16];
	for (;; close(s->fd)) {
		ssize_t n;
		s->fd = tcp_connect(port);
		s->connects++;
		do
			while (co_blocked(n = recv(s->fd, row, sizeof(row), MSG_DONTWAIT)))
				wait_readable(s);
		while (n > 0);
	}
}

int main(void)
{
	int free_port;
	server = tcp_listen(&port);
	close(tcp_listen(&free_port));
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SESSIONS; i++) {
		co_start(run_session, &sessions[i]);
		links[i] = (int)must(accept(server, NULL, NULL));
	}
	for (int i = 0; i < SESSIONS; i++) {
		close(links[i]);
		while (sessions[i].connects < 2)
			co_turn(ep, -1);
	}
	say("ready");
	co_loop(ep);
}
