// SPDX-License-Identifier: MIT
// expect: CTP027 likely, 2 coroutines
// end: kill
//
// Heartbeats of a server: each makes its timer and waits for it level-triggered;
// nobody has armed it. The server goes on accepting.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep;

static void heartbeat(void *arg)
{
	int timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	uint64_t beats;
	(void)arg;
	co_watch(ep, timer, EPOLLIN, co_self());
	for (;;) {
		co_yield(); // fault
		must(read(timer, &beats, sizeof(beats)));
	}
}

static void on_accept(struct co_handler *h, uint32_t events)
{
	(void)h;
	(void)events;
}

int main(void)
{
	static struct co_handler accepts = {.fn = on_accept};
	int port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	accepts.fd = tcp_listen(&port);
	co_handle(ep, &accepts, EPOLLIN);
	co_start(heartbeat, NULL);
	co_start(heartbeat, NULL);
	say("ready");
	co_loop(ep);
}
