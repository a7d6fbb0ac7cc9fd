// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Connections to a database are kept in a pool when their request is over. Each
// has a watcher, which waits for what should not come: the end, sent by the
// server while the connection is idle. Who borrows a connection resumes its
// watcher, which steps aside.
#include "ordered.h"

#define BACKENDS 4

static struct backend {
	struct backend *next;
	int fd, peer, queries;
	bool lent, gone;
	struct co *watcher;
} backends[BACKENDS], *idle;
static int ep, nidle;

static NOINLINE void put_back(struct backend *b)
{
	b->lent = false;
	b->next = idle;
	idle = b;
	nidle++;
}

// While it is idle any byte is an error, and the end is an end.
static void watcher(void *arg)
{
	struct backend *b = arg;
	char byte;
	for (;;) {
		ssize_t n = read(b->fd, &byte, 1);
		if (co_blocked(n)) {
			co_wait(ep, b->fd, EPOLLIN);
			while (b->lent) // another coroutine reads it meanwhile
				co_yield();
			continue;
		}
		b->gone = true;
		close(b->fd);
		ended++;
		return;
	}
}

static NOINLINE struct backend *borrow(void)
{
	struct backend *b = idle;
	idle = b->next;
	nidle--;
	b->lent = true;
	must(epoll_ctl(ep, EPOLL_CTL_DEL, b->fd, NULL));
	co_resume(b->watcher); // it steps aside
	return b;
}

static void query(void *arg)
{
	struct backend *b = borrow();
	char row[64];
	(void)arg;
	must(write(b->fd, "select", 6));
	must(co_read(ep, b->fd, row, sizeof(row)));
	b->queries++;
	put_back(b);
	co_resume(b->watcher); // and watches again
}

static NOINLINE void connect_backend(struct backend *b)
{
	int fds[2];
	pair("tcp", fds);
	b->fd = fds[0];
	b->peer = fds[1];
	b->watcher = co_new(watcher, b);
	put_back(b);
	co_resume(b->watcher);
}

static NOINLINE void answer_all(int upto)
{
	char text[16];
	for (int i = 0; i < BACKENDS; i++) {
		must(read(backends[i].peer, text, sizeof(text)));
		must(write(backends[i].peer, "row", 3));
		while (backends[i].queries < upto)
			co_turn(ep, -1);
	}
}

static NOINLINE void ask_all(int upto)
{
	for (int i = 0; i < BACKENDS; i++)
		co_start(query, NULL);
	must(nidle ? -1 : 0);
	answer_all(upto);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < BACKENDS; i++)
		connect_backend(&backends[i]);
	ask_all(1);
	ask_all(2);
	serve_until_ordered(ep);
	ask_all(3);
	for (int i = 0; i < BACKENDS; i++)
		close(backends[i].peer);
	while (ended < BACKENDS)
		co_turn(ep, -1);
	return all_resumed(BACKENDS);
}
