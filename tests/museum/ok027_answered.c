// SPDX-License-Identifier: MIT
// expect: clean
//
// Each connection has a watchdog, which waits for a timer that main made and registered. Main sets it when a
// request begins, and disarms it when it was answered. All have expired once. Two connections now have no request.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { CONNS = 6, ANSWERED = 2, HOUR = 3600 };
static int ep, expired;
static struct watchdog {
	struct co *co;
	int timer;
} watchdogs[CONNS];

static void watch(void *arg)
{
	struct watchdog *w = arg;
	uint64_t n;
	for (;;) {
		w->co = co_self();
		co_yield();
		expired += read(w->timer, &n, sizeof(n)) == sizeof(n);
	}
}

static void set(struct watchdog *w, long seconds, long ns)
{
	struct itimerspec when = {.it_value = {seconds, ns}};
	must(timerfd_settime(w->timer, 0, &when, NULL));
}

static void turns(int until)
{
	struct epoll_event ev[CONNS];
	while (expired < until) {
		int n = epoll_wait(ep, ev, CONNS, -1);
		for (int i = 0; i < n; i++)
			co_resume(((struct watchdog *)ev[i].data.ptr)->co);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		struct watchdog *w = &watchdogs[i];
		struct epoll_event ev = {.events = EPOLLIN, .data.ptr = w};
		w->timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
		must(epoll_ctl(ep, EPOLL_CTL_ADD, w->timer, &ev));
		co_start(watch, w);
		set(w, 0, 1);
	}
	turns(CONNS);
	for (int i = 0; i < CONNS; i++)
		set(&watchdogs[i], HOUR, 0);
	for (int i = CONNS - ANSWERED; i < CONNS; i++)
		set(&watchdogs[i], 0, 0);
	say("ready");
	turns(1 << 30);
}
