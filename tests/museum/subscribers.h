// SPDX-License-Identifier: MIT
//
// subscribers.h - what the exhibits share in which clients subscribe: they are answered, and then wait for what
// others publish. Connections are registered edge-triggered for both directions.
#pragma once

#include "unread.h"

static void wait_for_news(struct conn *c)
{
	c->waits = true;
	co_yield();
	c->waits = false;
}

static void publish(void)
{
	for (int i = 0; i < CONNS; i++)
		if (conns[i].waits)
			co_resume(conns[i].co);
}

static void serve(void *arg)
{
	struct conn *c = arg;
	char request[4];
	for (;;) {
		ssize_t n = read(c->fd, request, sizeof(request));
		if (n == 0)
			return;
		if (co_blocked(n)) {
			co_yield();
			continue;
		}
		must(write(c->fd, "ok", 2));
		c->got++;
		if (request[0] == 'p')
			publish();
		while (request[0] == 's') {
			wait_for_news(c);
			must(write(c->fd, "new", 3));
		}
	}
}

static void dispatch(int i)
{
	if (!conns[i].waits)
		resume_reader(i);
}

static void ask(int i, const char *request)
{
	int got = conns[i].got;
	send_text(i, request);
	while (conns[i].got == got)
		turn(-1, dispatch);
}

static void subscribe_two(void)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		start_reader(i, serve, EPOLLIN | EPOLLOUT | EPOLLET);
	for (int i = 0; i < 3; i++)
		ask(i, "ping");
	for (int i = 1; i < 3; i++)
		ask(i, "subs");
}

_Noreturn static void serve_on(void)
{
	say("ready");
	for (;;) {
		ask(0, "ping");
		turn(10, dispatch);
	}
}
