// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
// engine: both
//
// A proxy with a pool of backend connections. A proxy coroutine stands in two
// rows at once: its client's, which the loop added when it took the client in
// and which stays, and the backend's, which it adds for each answer. When the
// pool is full it evicts the connection that was used least lately, and forgets
// that this one is lent: its borrower is left with nothing but its client.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define POOL 2
#define CLIENTS 3

struct backend {
	int fd, server;
	unsigned used; // when it was lent last
	bool lent;
};

struct client {
	int fd, peer, answers;
};

static struct backend pool[POOL];
static struct client clients[CLIENTS];
static unsigned clock_now;
static int ep;

static void connect_backend(struct backend *b)
{
	int fds[2];
	pair("tcp", fds);
	*b = (struct backend){.fd = fds[0], .server = fds[1]};
}

static struct backend *least_lately(void)
{
	struct backend *b = &pool[0];
	for (int i = 1; i < POOL; i++)
		if (pool[i].used < b->used)
			b = &pool[i];
	return b;
}

static NOINLINE void evict(struct backend *b)
{
	close(b->fd); // fault
	connect_backend(b);
}

static struct backend *borrow(void)
{
	struct backend *b = NULL;
	for (int i = 0; i < POOL && !b; i++)
		if (!pool[i].lent)
			b = &pool[i];
	if (!b)
		evict(b = least_lately());
	b->lent = true;
	b->used = ++clock_now;
	return b;
}

static ssize_t ask_backend(struct backend *b, char *buf, size_t n)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = co_self()};
	int fd = b->fd;
	ssize_t r;
	must(write(fd, buf, n));
	while (co_blocked(r = read(fd, buf, n))) {
		if (epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev) < 0)
			must(epoll_ctl(ep, EPOLL_CTL_MOD, fd, &ev));
		co_yield();
	}
	return r;
}

static void proxy(void *arg)
{
	struct client *c = arg;
	char buf[64];
	ssize_t n;
	while ((n = read(c->fd, buf, sizeof(buf))) != 0) {
		if (co_blocked(n)) {
			co_yield();
			continue;
		}
		struct backend *b = borrow();
		if ((n = ask_backend(b, buf, (size_t)n)) <= 0)
			break;
		b->lent = false;
		must(write(c->fd, buf, (size_t)n));
		c->answers++;
	}
}

static NOINLINE void take_in(struct client *c)
{
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->peer = fds[1];
	struct co *co = co_new(proxy, c);
	co_watch(ep, c->fd, EPOLLIN | EPOLLRDHUP, co);
	co_resume(co);
}

static void on_client(struct co_handler *listener, uint32_t events)
{
	(void)events;
	close(accept(listener->fd, NULL, NULL)); // no more
}

int main(void)
{
	static struct co_handler listener = {.fn = on_client};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fd = tcp_listen(&port);
	co_handle(ep, &listener, EPOLLIN);
	for (int i = 0; i < POOL; i++)
		connect_backend(&pool[i]);
	for (int i = 0; i < CLIENTS; i++) {
		take_in(&clients[i]);
		must(write(clients[i].peer, "SELECT 1", 8));
		co_turn(ep, -1);
	}
	for (int i = 0; i < POOL; i++)
		must(write(pool[i].server, "1", 1));
	while (clients[1].answers + clients[2].answers < 2)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
