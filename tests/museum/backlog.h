// SPDX-License-Identifier: MIT
//
// backlog.h - a server that runs out of descriptors: idle connections, each with a coroutine
// that reads from it, and clients that wait in the listener's backlog. The exhibit says how
// its acceptor waits, and what follows when a connection has ended.
#pragma once

#include "few_descriptors.h"

#define BACKLOG static __attribute__((noinline, unused))

static int ep, listener, live, accepted, failed;

static void conn_ended(void); // the exhibit's

static void conn_main(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	close(fd);
	live--;
	conn_ended();
}

BACKLOG void serve(int fd)
{
	live++;
	accepted++;
	co_start(conn_main, (void *)(intptr_t)fd);
}

// -1: errno says why.
BACKLOG int take_one(void)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
	failed += fd < 0 && errno == EMFILE;
	return fd;
}

// Has `n` clients connect. The first `early` of them are served; then `room` descriptors are left, and the
// acceptor takes connections until it is told that none is free.
BACKLOG void run_out(co_fn *acceptor, int *clients, int n, int early, int room)
{
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener = tcp_listen(&port);
	co_start(acceptor, NULL);
	for (int i = 0; i < n; i++) {
		while (i == early && accepted < early)
			co_turn(ep, -1);
		clients[i] = tcp_connect(port);
	}
	leave_free(room);
	while (!failed)
		co_turn(ep, -1);
}
