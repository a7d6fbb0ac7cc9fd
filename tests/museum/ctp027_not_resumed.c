// SPDX-License-Identifier: MIT
// expect: CTP027 suspect, 2 coroutines
// engine: both
//
// Each ticker waits for a periodic timer that main made, set and registered. Main disarms all of them for a
// while, and arms them again up to an index that is too small.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { TICKERS = 6, FORGOTTEN = 2 };
static int ep, ticks;
static struct ticker {
	struct co *co;
	int timer;
} tickers[TICKERS];

static void tick(void *arg)
{
	struct ticker *t = arg;
	uint64_t n;
	for (;;) {
		t->co = co_self();
		co_yield(); // fault
		ticks += read(t->timer, &n, sizeof(n)) == sizeof(n);
	}
}

static void set(struct ticker *t, long ms)
{
	struct itimerspec every = {.it_value.tv_nsec = ms * 1000000, .it_interval.tv_nsec = ms * 1000000};
	must(timerfd_settime(t->timer, 0, &every, NULL));
}

static void turns(int until)
{
	struct epoll_event ev; // one at a time: of those that come together none shows whom it resumes
	while (ticks < until)
		if (epoll_wait(ep, &ev, 1, -1) == 1)
			co_resume(((struct ticker *)ev.data.ptr)->co);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < TICKERS; i++) {
		struct ticker *t = &tickers[i];
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = t};
		t->timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
		must(epoll_ctl(ep, EPOLL_CTL_ADD, t->timer, &ev));
		co_start(tick, t);
		set(t, 20 + i);
	}
	turns(4 * TICKERS);
	for (int i = 0; i < TICKERS; i++)
		set(&tickers[i], 0);
	for (int i = 0; i < TICKERS - FORGOTTEN; i++)
		set(&tickers[i], 50);
	say("ready");
	turns(1 << 30);
}
