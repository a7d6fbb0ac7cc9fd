// SPDX-License-Identifier: MIT
// expect: CTP028 suspect..likely, 3 coroutines
// end: kill
// engine: both
//
// A server for a few slow clients, in a process of their own. On reload it makes a
// new epoll set, moves its listener there, and sleeps in it from then on. Only
// later, when nothing moves in the server any more, the clients ask again: their
// rows are live, armed, and in the set that nobody polls.
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { CLIENTS = 3, THINKS_MS = 1000 };

static int ep, accepted;
static struct co_handler listener, control;
static int conns[CLIENTS];

static void serve(void *arg)
{
	int fd = *(int *)arg;
	char request[64];
	while (co_read(ep, fd, request, sizeof(request)) > 0) // fault
		must(write(fd, "ok", 2));
	close(fd);
}

static void on_client(struct co_handler *h, uint32_t events)
{
	(void)events;
	conns[accepted] = (int)must(accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	co_start(serve, &conns[accepted++]);
}

static void on_control(struct co_handler *h, uint32_t events)
{
	char order;
	(void)events;
	if (read(h->fd, &order, 1) != 1)
		return;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_handle(ep, &listener, EPOLLIN);
	say("ready");
}

static void ask(int fd)
{
	must(write(fd, "GET /", 5));
}

static NOINLINE void clients(int port, int orders)
{
	int fds[CLIENTS];
	char answer[64];
	for (int i = 0; i < CLIENTS; i++) {
		fds[i] = tcp_connect(port);
		ask(fds[i]);
		must(read(fds[i], answer, sizeof(answer)));
	}
	must(write(orders, "r", 1));
	nap_ms(THINKS_MS);
	for (int i = 0; i < CLIENTS; i++)
		ask(fds[i]);
	while (read(fds[0], answer, sizeof(answer)) > 0)
		;
	_exit(0);
}

int main(void)
{
	int port, orders[2];
	listener = (struct co_handler){.fn = on_client, .fd = tcp_listen(&port)};
	pair("pipe", orders);
	if (!must(fork()))
		clients(port, orders[1]);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC)); // not the clients' as well
	control = (struct co_handler){.fn = on_control, .fd = orders[0]};
	co_handle(ep, &listener, EPOLLIN);
	co_handle(ep, &control, EPOLLIN);
	while (true)
		co_turn(ep, -1);
}
