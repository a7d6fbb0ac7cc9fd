// SPDX-License-Identifier: MIT
// expect: clean
//
// Both pipes are full and both nodes write, but one of them has registered a
// deadline beside its pipe: a timer will get it out, long from now.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, to_left[2], to_right[2], deadline;
static char state[1 << 20];

static void fill(int fd)
{
	for (size_t at = 0; at < sizeof(state);)
		at += (size_t)must(co_write(ep, fd, state + at, sizeof(state) - at));
}

static void left_node(void *arg)
{
	char byte;
	(void)arg;
	struct itimerspec later = {.it_value = {.tv_sec = 3600}};
	deadline = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(deadline, 0, &later, NULL));
	co_watch(ep, deadline, EPOLLIN | EPOLLONESHOT, co_self());
	must(write(to_right[1], "", 1));
	must(co_read(ep, to_left[0], &byte, 1));
	fill(to_right[1]);
}

static void right_node(void *arg)
{
	char byte;
	(void)arg;
	must(co_read(ep, to_right[0], &byte, 1));
	must(write(to_left[1], "", 1));
	fill(to_left[1]);
}

static void on_parked(struct co *c)
{
	static int parked;
	if (c->fn == left_node && ++parked == 2)
		say("ready");
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe2(to_left, O_NONBLOCK | O_CLOEXEC));
	must(pipe2(to_right, O_NONBLOCK | O_CLOEXEC));
	co_parked = on_parked;
	co_start(right_node, NULL);
	co_start(left_node, NULL);
	co_loop(ep);
}
