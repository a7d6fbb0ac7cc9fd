// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 1 coroutine
// expect: also CTP003
//
// Database connections come from a pool, a free list on the heap. Who puts one
// back takes it out of the set; who takes one out arms it by EPOLL_CTL_MOD, as
// for a connection that it holds: the error is dropped, and the second borrower
// waits without a row. Rows hold handles of 32 bits, generation and slot.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SLOTS 8
#define LISTENER UINT32_MAX

struct connection {
	struct connection *next;
	int fd, database;
	bool added;
};

static struct {
	struct co *co;
	uint32_t generation;
} slots[SLOTS];
static struct connection *free_list;
static int ep, queries, nslots;

static uint32_t my_handle(void)
{
	for (uint32_t i = 0; i < SLOTS; i++)
		if (slots[i].co == co_self())
			return slots[i].generation << 8 | i;
	return LISTENER;
}

static struct connection *borrow(void)
{
	struct connection *c = free_list;
	free_list = c->next;
	return c;
}

static void put_back(struct connection *c)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, c->fd, NULL));
	c->next = free_list;
	free_list = c;
}

static ssize_t fetch(struct connection *c, char *row, size_t n)
{
	ssize_t got;
	while (co_blocked(got = recv(c->fd, row, n, 0))) {
		struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.u32 = my_handle()};
		epoll_ctl(ep, c->added ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, c->fd, &ev);
		c->added = true;
		co_yield(); // fault
	}
	return got;
}

static void request(void *arg)
{
	struct connection *c = borrow();
	char row[64];
	(void)arg;
	must(send(c->fd, "SELECT", 6, 0));
	if (fetch(c, row, sizeof(row)) > 0)
		queries++;
	put_back(c);
}

static NOINLINE void begin_request(void)
{
	int i = nslots++ % SLOTS;
	slots[i].co = co_new(request, NULL);
	slots[i].generation++;
	co_resume(slots[i].co);
}

static NOINLINE void turn(int listener)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	uint32_t handle = ev.data.u32, slot = handle & 0xff;
	if (handle == LISTENER)
		close(accept(listener, NULL, NULL));
	else if (slots[slot].generation == handle >> 8)
		co_resume(slots[slot].co);
}

static NOINLINE int open_connection(void)
{
	struct connection *c = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	*c = (struct connection){free_list, fds[0], fds[1], false};
	free_list = c;
	return c->database;
}

int main(void)
{
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN, .data.u32 = LISTENER};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	open_connection();
	int database = open_connection();
	begin_request();
	must(write(database, "row", 3));
	while (!queries)
		turn(listener);
	begin_request();
	must(write(database, "row", 3));
	close(tcp_connect(port)); // something happens, but for the second request
	turn(listener);
	say("ready");
	for (;;)
		turn(listener);
}
