// SPDX-License-Identifier: MIT
// expect: CTP001 none..suspect, 1 coroutine
// engine: both
//
// A coroutine waits for whichever of two connections is established first. The
// resolver takes one of them back: that one is closed, and the other is enough.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, attempts[2];

static void race(void *arg)
{
	char hello[64];
	(void)arg;
	for (int i = 0; i < 2; i++)
		co_watch(ep, attempts[i], EPOLLIN, co_self());
	co_yield();
	must(read(attempts[1], hello, sizeof(hello)));
}

static void take_back(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	close(attempts[0]);
}

int main(void)
{
	static struct co_handler resolver = {.fn = take_back};
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	resolver.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &resolver, EPOLLIN);
	for (int i = 0; i < 2; i++) {
		pair("tcp", fds);
		attempts[i] = fds[0];
	}
	co_start(race, NULL);
	must(write(resolver.fd, &(uint64_t){1}, 8));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
