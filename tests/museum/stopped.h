// SPDX-License-Identifier: MIT
//
// stopped.h - what the exhibits share whose loop takes a watcher that was stopped out of its set after the turn.
// Three connections; for who is late, its exhibit does something else than wait for more.
#pragma once

#include "unread.h"

static bool started[3], late[3] __attribute__((unused));

UNREAD void start(int i)
{
	if (!started[i])
		watch_conn(i, EPOLL_CTL_ADD, EPOLLIN);
	started[i] = true;
}

UNREAD void stop(int i)
{
	started[i] = false;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, conns[i].fd, NULL));
}

// Each has read a line, and waits for the next one.
UNREAD void greet_all(co_fn *serve)
{
	for (int i = 0; i < 3; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		conns[i].co = co_new(serve, &conns[i]);
		co_resume(conns[i].co);
		send_text(i, "hello\n");
		while (!conns[i].got)
			turn(-1, resume_reader);
	}
}
