// SPDX-License-Identifier: MIT
//
// kicked.h - what the exhibits share in which sources feed a sink: whoever has something for the sink asks for
// room on the sink's behalf, by the row of the sink's descriptor. Two sources, and the sink on conns[SINK].
#pragma once

#include <sys/socket.h>

#include "unread.h"

enum { SOURCES = 2, SINK };

static int queued, written;
static void (*when_queued)(void); // or NULL

static void read_source(void *arg)
{
	struct conn *c = arg;
	char text[8];
	for (;;) {
		ssize_t n = read(c->fd, text, sizeof(text));
		if (co_blocked(n)) {
			co_yield();
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
			queued++;
			if (conns[SINK].fd >= 0)
				watch_conn(SINK, EPOLL_CTL_MOD, EPOLLOUT | EPOLLRDHUP);
			if (when_queued)
				when_queued();
		}
	}
}

static void write_sink(void *arg)
{
	struct conn *c = arg;
	char byte;
	for (;;) {
		co_yield();
		if (recv(c->fd, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 0)
			break;
		for (; queued > 0; queued--, written++)
			must(write(c->fd, "+", 1));
		watch_conn(SINK, EPOLL_CTL_MOD, EPOLLRDHUP);
	}
	must(epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL));
	must(close(c->fd));
	c->fd = -1;
}

static void feed(int i)
{
	int got = conns[i].got;
	send_text(i, "x");
	while (conns[i].got == got)
		turn(-1, resume_reader);
}

// All have read and written something, and then the sink's peer goes, while the sources wait.
static void start_and_lose_sink(void)
{
	for (int i = 0; i <= SINK; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SOURCES; i++)
		start_reader(i, read_source, EPOLLIN);
	start_reader(SINK, write_sink, EPOLLRDHUP);
	for (int i = 0; i < SOURCES; i++) {
		feed(i);
		while (queued)
			turn(-1, resume_reader);
	}
	for (int i = 0; i < SOURCES; i++)
		feed(i);
	must(shutdown(conns[SINK].peer, SHUT_WR));
	while (conns[SINK].fd >= 0)
		turn(-1, resume_reader);
}
