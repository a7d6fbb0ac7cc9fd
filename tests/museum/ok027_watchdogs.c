// SPDX-License-Identifier: MIT
// expect: CTP027 none..suspect, 4 coroutines
//
// Each connection has a watchdog with a timerfd of its own, which its reader sets when a
// request begins and disarms when it was answered. One request was made, of the last
// connection; no other has begun yet.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { CONNS = 4 };
static int ep, answered;
static struct conn {
	int fd, peer, timer;
} conns[CONNS];

static void watchdog(void *arg)
{
	struct conn *c = arg;
	uint64_t n;
	c->timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(co_read(ep, c->timer, &n, sizeof(n)));
	close(c->fd);
}

static void reader(void *arg)
{
	struct itimerspec minute = {.it_value.tv_sec = 60}, never = {0};
	struct conn *c = arg;
	char request;
	while (co_read(ep, c->fd, &request, 1) > 0) {
		must(timerfd_settime(c->timer, 0, &minute, NULL));
		must(write(c->fd, "answer", 6));
		must(timerfd_settime(c->timer, 0, &never, NULL));
		answered++;
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = (struct conn){.fd = fds[0], .peer = fds[1]};
		co_start(watchdog, &conns[i]);
		co_start(reader, &conns[i]);
	}
	must(write(conns[CONNS - 1].peer, "r", 1));
	while (!answered)
		co_turn(ep, -1);
	say("ready");
	co_loop(ep);
}
