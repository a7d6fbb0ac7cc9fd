// SPDX-License-Identifier: MIT
//
// paused.h - what the exhibits share in which a source that has sent too much is paused: its registration is left
// without events. A timer stands in the same set; what tick() does then is the exhibit.
#pragma once

#include <sys/timerfd.h>

#include "unread.h"

static void tick(void);

enum { TIMER = 2 };
static int timer_fd;

static void receive(void *arg)
{
	struct conn *c = arg;
	char text[5];
	for (;;) {
		ssize_t n = read(c->fd, text, sizeof(text));
		if (co_blocked(n)) {
			co_yield();
		} else if (n <= 0) {
			return;
		} else {
			c->got++;
			if (text[0] != '!')
				continue;
			watch_conn(number_of(c), EPOLL_CTL_MOD, 0);
			c->waits = true;
			co_yield(); // fault
			c->waits = false;
		}
	}
}

static void come(int i)
{
	uint64_t n;
	if (i != TIMER) {
		resume_reader(i);
		return;
	}
	must(read(timer_fd, &n, sizeof(n)));
	tick();
}

UNREAD void set_timer(long first_ms, long interval_ms)
{
	struct itimerspec t = {{interval_ms / 1000, interval_ms % 1000 * 1000000},
			       {first_ms / 1000, first_ms % 1000 * 1000000}};
	timer_fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	must(timerfd_settime(timer_fd, 0, &t, NULL));
	conns[TIMER].fd = timer_fd;
	watch_conn(TIMER, EPOLL_CTL_ADD, EPOLLIN);
}

// A source is paused, by its own registration; the timer expires first after so long, and then so often.
static _Noreturn void pause_and_serve(long first_ms, long interval_ms)
{
	for (int i = 0; i < 2; i++)
		make_conn(i);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		start_reader(i, receive, EPOLLIN);
		send_text(i, "hello");
		while (!conns[i].got)
			turn(-1, come);
	}
	set_timer(first_ms, interval_ms);
	send_text(1, "!stop");
	while (!conns[1].waits)
		turn(-1, come);
	send_text(1, "again");
	say("ready");
	for (;;)
		turn(-1, come);
}
