// SPDX-License-Identifier: MIT
// expect: CTP027 none..suspect, 1 coroutine
// engine: both
//
// A batch is written when its timer expires. The coroutine that does so made the timer, and disarms it once it
// has expired: there is nothing to write. Whoever has something for the next batch arms it.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, timer, orders[2], written;

static NOINLINE void arm(void)
{
	struct itimerspec soon = {.it_value.tv_nsec = 1000};
	must(timerfd_settime(timer, 0, &soon, NULL));
}

static NOINLINE void disarm(void)
{
	struct itimerspec never = {0};
	must(timerfd_settime(timer, 0, &never, NULL));
}

static void writer(void *arg)
{
	uint64_t n;
	(void)arg;
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	arm(); // what was left by the last run
	for (;;) {
		must(co_read(ep, timer, &n, sizeof(n)));
		written++;
		disarm();
	}
}

static void client(void *arg)
{
	char byte;
	(void)arg;
	while (co_read(ep, orders[0], &byte, 1) > 0)
		arm();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", orders);
	co_start(writer, NULL);
	co_start(client, NULL);
	while (!written)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
