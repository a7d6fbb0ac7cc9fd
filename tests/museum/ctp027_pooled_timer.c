// SPDX-License-Identifier: MIT
// expect: CTP027 likely, 1 coroutine
// end: kill
//
// Timers are kept in a pool that main has filled. A retry takes one and sets it to
// its delay in whole milliseconds, which is zero: that disarms it.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, pool[4], free_timers;

static void sleep_us(long us)
{
	struct itimerspec t = {.it_value.tv_nsec = us / 1000 * 1000000};
	int timer = pool[--free_timers];
	uint64_t n;
	must(timerfd_settime(timer, 0, &t, NULL)); // fault
	must(co_read(ep, timer, &n, sizeof(n))); // fault
	pool[free_timers++] = timer;
}

static void retry(void *arg)
{
	(void)arg;
	sleep_us(500);
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
	while (free_timers < 4)
		pool[free_timers++] = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_start(retry, NULL);
	say("ready");
	co_loop(ep);
}
