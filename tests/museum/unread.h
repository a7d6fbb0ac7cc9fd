// SPDX-License-Identifier: MIT
//
// unread.h - what the exhibits share in which bytes are left unread: connections by their numbers, one reader
// each. Who sends is the exhibit, or a child process that chats on one of them.
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define UNREAD static __attribute__((noinline, unused))
#define CONNS 4

static struct conn {
	struct co *co;
	int fd, peer, got;
	bool waits;
} conns[CONNS];
static int ep;

// Events of conns[i] have i as their data.
UNREAD void watch_conn(int i, int op, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.u32 = (uint32_t)i};
	must(epoll_ctl(ep, op, conns[i].fd, &ev));
}

UNREAD void make_conn(int i)
{
	int fds[2];
	pair("tcp", fds);
	conns[i].fd = fds[0];
	conns[i].peer = fds[1];
}

UNREAD void start_reader(int i, co_fn *fn, uint32_t events)
{
	conns[i].co = co_new(fn, &conns[i]);
	watch_conn(i, EPOLL_CTL_ADD, events);
	co_resume(conns[i].co);
}

UNREAD int number_of(const struct conn *c)
{
	return (int)(c - conns);
}

UNREAD void resume_reader(int i)
{
	co_resume(conns[i].co);
}

// One turn. `come` takes the event.
UNREAD void turn(int timeout_ms, void (*come)(int i))
{
	struct epoll_event ev[CONNS];
	int n = epoll_wait(ep, ev, CONNS, timeout_ms);
	for (int k = 0; k < n; k++)
		come((int)ev[k].data.u32);
}

UNREAD void send_text(int i, const char *text)
{
	must(write(conns[i].peer, text, strlen(text)));
}

// A client that asks and is answered, again and again, until the server ends. Before any set is made.
UNREAD void chat(int i)
{
	make_conn(i);
	int fd = conns[i].peer;
	if (must(fork()) == 0) {
		char c[2];
		close(conns[i].fd);
		fcntl(fd, F_SETFL, 0);
		while (write(fd, "PING", 4) == 4 && read(fd, c, sizeof(c)) > 0)
			usleep(10000);
		_exit(0);
	}
	close(fd);
}
