// SPDX-License-Identifier: MIT
// expect: CTP028 suspect..likely, 3 coroutines
// engine: both
//
// On reload a server makes a new epoll set, moves its listener and its control
// pipe there, and polls that from now on. The old set stays open, with all its
// connections' rows, live and armed; nobody ever polls it again.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 3

struct server {
	int ep, old_ep;
	struct co_handler listener, control;
	unsigned generation, accepted;
};

static struct server server;
static struct conn {
	struct co *co;
	int fd, client, requests;
} conns[CONNS + 1];

static void conn_main(void *arg)
{
	struct conn *c = arg;
	char request[64];
	while (co_read(server.ep, c->fd, request, sizeof(request)) > 0) // fault
		c->requests++;
	close(c->fd);
}

static void open_set(struct server *s)
{
	s->old_ep = s->ep;
	s->ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_handle(s->ep, &s->listener, EPOLLIN);
	co_handle(s->ep, &s->control, EPOLLIN);
	s->generation++;
}

static void on_control(struct co_handler *h, uint32_t events)
{
	char order;
	(void)events;
	if (read(h->fd, &order, 1) == 1 && order == 'r')
		open_set(&server);
}

static void on_client(struct co_handler *h, uint32_t events)
{
	struct conn *c = &conns[server.accepted];
	(void)events;
	c->fd = (int)must(accept4(h->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC));
	server.accepted++;
	c->co = co_new(conn_main, c);
	co_resume(c->co);
}

static void client(int i, int port)
{
	conns[i].client = tcp_connect(port);
	must(write(conns[i].client, "GET /", 5));
	while (!conns[i].requests)
		co_turn(server.ep, -1);
}

int main(void)
{
	int port, orders[2];
	server.listener = (struct co_handler){.fn = on_client, .fd = tcp_listen(&port)};
	pair("pipe", orders);
	server.control = (struct co_handler){.fn = on_control, .fd = orders[0]};
	open_set(&server);
	for (int i = 0; i < CONNS; i++)
		client(i, port);
	must(write(orders[1], "r", 1));
	while (server.generation < 2)
		co_turn(server.ep, -1);
	client(CONNS, port); // a new one is served
	for (int i = 0; i < CONNS; i++)
		must(write(conns[i].client, "GET /next", 9));
	must(write(conns[CONNS].client, "GET /next", 9));
	while (conns[CONNS].requests < 2)
		co_turn(server.ep, -1);
	say("ready");
	co_loop(server.ep);
}
