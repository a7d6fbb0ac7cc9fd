// SPDX-License-Identifier: MIT
//
// deadlines.h - sleepers that share one timerfd, which is set to the next deadline of a list. The loop has a
// socket besides, of which nothing comes. `sleeping` counts those in the list.
#pragma once

#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "rhythm.h"

enum { DEADLINES = 8 };

static struct deadline {
	struct co *co; // NULL: free
	long at_ms;
} deadlines[DEADLINES];
static int ep, timer, sleeping;

RHYTHM void set_timer(long ms)
{
	struct itimerspec to = {.it_value = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000}};
	must(timerfd_settime(timer, 0, &to, NULL));
}

RHYTHM struct deadline *next_deadline(void)
{
	struct deadline *next = NULL;
	for (struct deadline *d = deadlines; d < deadlines + DEADLINES; d++)
		if (d->co && (!next || d->at_ms < next->at_ms))
			next = d;
	return next;
}

RHYTHM NOINLINE void set_next(void)
{
	struct deadline *next = next_deadline();
	long ms = next ? next->at_ms - now_ms() : 0;
	set_timer(!next ? 0 : ms > 0 ? ms : 1);
}

RHYTHM NOINLINE struct deadline *add_deadline(long ms)
{
	struct deadline *d = deadlines;
	while (d->co)
		d++;
	*d = (struct deadline){co_self(), now_ms() + ms};
	sleeping++;
	set_next();
	return d;
}

RHYTHM struct co *take_out(struct deadline *d)
{
	struct co *c = d->co;
	d->co = NULL;
	sleeping--;
	return c;
}

RHYTHM void expire(void)
{
	uint64_t n;
	if (read(timer, &n, sizeof(n)) != sizeof(n))
		return;
	for (struct deadline *d; (d = next_deadline()) && d->at_ms <= now_ms();)
		co_resume(take_out(d));
	set_next();
}

RHYTHM void add_to_set(int fd)
{
	struct epoll_event e = {.events = EPOLLIN, .data.fd = fd};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &e));
}

RHYTHM void begin_deadlines(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	pair("tcp", fds);
	add_to_set(timer);
	add_to_set(fds[0]);
}

// Turns of the loop, with `before` said once it has gone on for long enough since `stopped_ms`.
RHYTHM void turn_until_told(void (*before)(void))
{
	for (bool said = false;;) {
		struct epoll_event e;
		if (epoll_wait(ep, &e, 1, TICK_MS) == 1 && e.data.fd == timer)
			expire();
		if (before && !stopped_ms)
			before();
		if (!said && stopped_ms && now_ms() - stopped_ms > LEAST_MS) {
			said = true;
			say("ready");
		}
	}
}
