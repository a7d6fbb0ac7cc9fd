// SPDX-License-Identifier: MIT
// expect: clean
//
// A library that remembers what is readable: the session takes one request of
// several from its edge-triggered socket, and waits for a worker's answer in a
// queue. It will find the rest by its own note, without an event.
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct {
	struct co *waiter;
	bool readable;
	int fd;
} conn;
static struct co *queue;
static int ep, worker_end;

static void wait_readable(void)
{
	while (!conn.readable) {
		conn.waiter = co_self();
		co_yield();
		conn.waiter = NULL;
	}
}

static void wait_for_worker(void)
{
	queue = co_self();
	co_yield();
}

static void session(void *arg)
{
	char request[4];
	(void)arg;
	for (;;) {
		ssize_t n = read(conn.fd, request, sizeof(request));
		if (co_blocked(n)) {
			conn.readable = false;
			wait_readable();
		} else {
			wait_for_worker();
		}
	}
}

static void worker(void *arg)
{
	char answer[64];
	(void)arg;
	while (co_read(ep, worker_end, answer, sizeof(answer)) > 0)
		co_resume(queue);
}

static void on_conn(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
	conn.readable = true;
	if (conn.waiter)
		co_resume(conn.waiter);
}

int main(void)
{
	static struct co_handler handler = {.fn = on_conn};
	int fds[2], answers[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	pair("tcp", answers);
	conn.fd = handler.fd = fds[0];
	worker_end = answers[0];
	co_handle(ep, &handler, EPOLLIN | EPOLLET);
	co_start(worker, NULL);
	co_start(session, NULL);
	must(write(fds[1], "GET1GET2GET3", 12));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(fds[1], "GET4", 4));
	must(co_turn(ep, -1) ? 0 : -1); // noted, as nobody waits for it
	say("ready");
	co_loop(ep);
}
