// SPDX-License-Identifier: MIT
// expect: CTP027 suspect, 2 coroutines
// engine: both
//
// Main makes and sets the timers of two sleepers, and takes both back without resuming anybody. A manager of
// timers would wait so as well; but nothing can happen in this program any more.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { SLEEPERS = 2 };
static int ep, timers[SLEEPERS];

static void sleeper(void *arg)
{
	uint64_t n;
	must(co_read(ep, timers[(intptr_t)arg], &n, sizeof(n))); // fault
}

static void set_all(long seconds)
{
	struct itimerspec when = {.it_value.tv_sec = seconds};
	for (int i = 0; i < SLEEPERS; i++)
		must(timerfd_settime(timers[i], 0, &when, NULL));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SLEEPERS; i++)
		timers[i] = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	set_all(3600);
	for (intptr_t i = 0; i < SLEEPERS; i++)
		co_start(sleeper, (void *)i);
	set_all(0); // fault
	say("ready");
	co_loop(ep);
}
