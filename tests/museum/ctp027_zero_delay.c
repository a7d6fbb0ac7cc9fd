// SPDX-License-Identifier: MIT
// expect: CTP027 likely..proven, 1 coroutine
// engine: both
//
// A delay that was rounded down to zero: timerfd_settime with zeroes does not
// expire at once, it disarms.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep;

static void sleep_us(long us)
{
	struct itimerspec t = {.it_value.tv_nsec = us / 1000 * 1000000};
	int timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	uint64_t n;
	must(timerfd_settime(timer, 0, &t, NULL)); // fault
	must(co_read(ep, timer, &n, sizeof(n))); // fault
	close(timer);
}

static void retry(void *arg)
{
	(void)arg;
	sleep_us(500);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_start(retry, NULL);
	say("ready");
	co_loop(ep);
}
