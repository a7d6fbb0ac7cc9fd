// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
//
// Keep-alive behind a sweep: every so often whoever was idle since the last one is
// thrown out, by a shutdown, so that its reader sees the end, closes and returns.
// Three were, three more have spoken since and stay.
#include <sys/socket.h>
#include <sys/timerfd.h>

#include "ordered.h"

#define CONNS 6
#define LEAVE 3

static struct conn {
	int fd, peer;
	bool spoke, open;
} conns[CONNS];
static struct co_handler timer;
static int ep, sweeps;

static void keep_alive(void *arg)
{
	struct conn *c = arg;
	char request[128];
	ssize_t n;
	while ((n = co_read(ep, c->fd, request, sizeof(request))) > 0)
		c->spoke = true;
	c->open = false;
	close(c->fd);
	ended++;
}

static NOINLINE void open_conn(struct conn *c)
{
	int fds[2];
	pair("tcp", fds);
	*c = (struct conn){fds[0], fds[1], true, true};
	co_start(keep_alive, c);
}

static NOINLINE void sweep(void)
{
	for (int i = 0; i < CONNS; i++) {
		struct conn *c = &conns[i];
		if (c->open && !c->spoke)
			must(shutdown(c->fd, SHUT_RDWR));
		c->spoke = false;
	}
	sweeps++;
}

static void on_timer(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	if (read(h->fd, &n, sizeof(n)) == sizeof(n))
		sweep();
}

static NOINLINE void next_sweep(long seconds, long ns)
{
	struct itimerspec at = {.it_value = {seconds, ns}};
	must(timerfd_settime(timer.fd, 0, &at, NULL));
}

static NOINLINE void until_sweep(int number)
{
	next_sweep(0, 1000000);
	while (sweeps < number)
		co_turn(ep, -1);
}

static NOINLINE void some_speak(void)
{
	for (int i = 0; i < CONNS; i += 2) {
		must(write(conns[i].peer, "GET /", 5));
		while (!conns[i].spoke)
			co_turn(ep, -1);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	timer.fn = on_timer;
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &timer, EPOLLIN);
	for (int i = 0; i < CONNS; i++)
		open_conn(&conns[i]);
	until_sweep(1);
	some_speak();
	until_sweep(2);
	while (ended < LEAVE)
		co_turn(ep, -1);
	next_sweep(3600, 0);
	serve_until_ordered(ep);
	until_sweep(3);
	while (ended < CONNS)
		co_turn(ep, -1);
	return all_resumed(CONNS);
}
