// SPDX-License-Identifier: MIT
//
// A pool of workers before a dispatcher: each connection's event is given to the
// worker that was parked last, whoever that is. A reaper, in the loop, closes
// all connections; the workers are in the pool by then.
#pragma once

#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct conn {
	int fd, peer, requests;
	struct co *waiter; // its worker, in the middle of a request
};

static struct co *volatile parked[8]; // no dead store: the pool leads to its workers
static struct conn *work;
static int ep, nparked;

static inline struct conn *next_conn(void)
{
	parked[nparked++] = co_self();
	co_yield();
	return work;
}

static inline void open_conn(struct conn *c, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = c};
	int fds[2];
	pair("unix", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	must(epoll_ctl(ep, EPOLL_CTL_ADD, c->fd, &ev));
}

static inline void dispatch(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	work = ev.data.ptr;
	co_resume(work->waiter ? work->waiter : parked[--nparked]);
}

static inline void request(struct conn *c)
{
	must(write(c->peer, "job", 3));
	dispatch();
}

static inline _Noreturn void reap(struct conn *conns, int n)
{
	for (int i = 0; i < n; i++)
		close(conns[i].fd);
	say("ready");
	for (;;)
		dispatch();
}
