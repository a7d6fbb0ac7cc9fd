// SPDX-License-Identifier: MIT
// expect: CTP027 suspect, 1 coroutine
// end: kill
//
// The idle timer of a session is made by who accepts it, and handed to the session's
// watchdog; that it must be set as well was forgotten. The server goes on accepting.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep;

static void watchdog(void *arg)
{
	int timer = (int)(intptr_t)arg;
	uint64_t n;
	must(co_read(ep, timer, &n, sizeof(n))); // fault
	close(timer);
}

static void accepted(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
}

int main(void)
{
	static struct co_handler accepts = {.fn = accepted};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	accepts.fd = tcp_listen(&port);
	co_handle(ep, &accepts, EPOLLIN);
	co_start(watchdog, (void *)(intptr_t)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)));
	say("ready");
	co_loop(ep);
}
