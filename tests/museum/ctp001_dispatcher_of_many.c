// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines in 2 findings
//
// Main has registered the socket of a backend once and for all, level-triggered,
// and wakes in turn who waits for it. The coroutines themselves register nothing:
// each tries to read, is told EAGAIN, and yields. Then the health check closes the
// backend's socket, and nobody is woken.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, port, backend[2], checks[2];
static struct co *waiting[3];

static void reply_reader(void *arg)
{
	char byte;
	int i = *(int *)arg;
	for (;;) {
		ssize_t n = read(backend[0], &byte, 1);
		if (!co_blocked(n))
			continue;
		waiting[i] = co_self();
		co_yield();
	}
}

static NOINLINE void drop_backend(void)
{
	close(backend[0]); // fault
}

static void health_check(void *arg)
{
	char byte;
	(void)arg;
	must(co_read(ep, checks[0], &byte, 1));
	drop_backend();
	say("ready");
}

static void dispatch(struct co_handler *h, uint32_t events)
{
	static int next;
	(void)h;
	(void)events;
	struct co *c = waiting[next++ % 3];
	if (c)
		co_resume(c);
}

static struct co_handler handler = {.tag = CO_HANDLER, .fn = dispatch};

static void acceptor(void *arg)
{
	co_wait(ep, *(int *)arg, EPOLLIN);
}

int main(void)
{
	static int which[3] = {0, 1, 2};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	int listener = tcp_listen(&port);
	pair("unix", backend);
	pair("pipe", checks);
	handler.fd = backend[0];
	co_handle(ep, &handler, EPOLLIN);
	co_start(acceptor, &listener);
	for (int i = 0; i < 3; i++)
		co_start(reply_reader, &which[i]);
	co_start(health_check, NULL);
	for (int i = 0; i < 4; i++) { // each has been woken
		must(write(backend[1], "r", 1));
		co_turn(ep, -1);
	}
	must(write(checks[1], "c", 1));
	co_loop(ep);
}
