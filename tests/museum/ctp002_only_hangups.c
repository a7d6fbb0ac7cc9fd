// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 2 coroutines
//
// Idle keep-alive connections are watched for hangups only: a sweep, behind a
// timer, changes their masks from EPOLLIN to EPOLLRDHUP to be rid of clients
// that trickle. The readers stand as they did, and next requests wake nobody.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 4

struct conn {
	struct conn *next; // in the list of idle ones
	struct co *co;
	int fd, client, requests;
	unsigned since; // the tick of its last request
};

static struct conn *idle, *conns[CONNS];
static struct co_handler timer;
static unsigned ticks;
static int ep;

static void push_idle(struct conn *c)
{
	c->since = ticks;
	c->next = idle;
	idle = c;
}

static void drop_idle(struct conn *c)
{
	for (struct conn **at = &idle; *at; at = &(*at)->next)
		if (*at == c) {
			*at = c->next;
			return;
		}
}

static void keep_alive(void *arg)
{
	struct conn *c = arg;
	char request[128];
	ssize_t n;
	co_watch(ep, c->fd, EPOLLIN | EPOLLRDHUP, co_self());
	for (;;) {
		n = recv(c->fd, request, sizeof(request), 0);
		if (co_blocked(n)) {
			push_idle(c);
			co_yield();
			drop_idle(c);
			continue;
		}
		if (n <= 0)
			break;
		c->requests++;
		must(send(c->fd, "200 OK", 6, MSG_NOSIGNAL));
	}
	close(c->fd);
}

static void only_hangups(struct conn *c)
{
	struct epoll_event ev = {.events = EPOLLRDHUP, .data.ptr = c->co};
	must(epoll_ctl(ep, EPOLL_CTL_MOD, c->fd, &ev)); // fault
}

static void sweep(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	must(read(h->fd, &n, sizeof(n)));
	ticks++;
	for (struct conn *c = idle; c; c = c->next)
		if (ticks - c->since == 5)
			only_hangups(c);
	if (ticks <= 5 || ticks == 8) // two clients that never rest, and at last the others, too
		for (int i = 0; i < (ticks == 8 ? CONNS : 2); i++)
			must(write(conns[i]->client, "GET /", 5));
	if (ticks == 9)
		say("ready");
	if (ticks == 9)
		must(timerfd_settime(h->fd, 0, &(struct itimerspec){.it_value.tv_sec = 3600}, NULL));
}

static NOINLINE void open_conn(int i)
{
	struct conn *c = conns[i] = must_alloc(sizeof(*c));
	int fds[2];
	pair("tcp", fds);
	c->fd = fds[0];
	c->client = fds[1];
	c->co = co_new(keep_alive, c);
	co_resume(c->co);
}

int main(void)
{
	struct itimerspec every = {.it_value.tv_nsec = 10000000, .it_interval.tv_nsec = 10000000};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++)
		open_conn(i);
	timer.fn = sweep;
	timer.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	co_handle(ep, &timer, EPOLLIN);
	must(timerfd_settime(timer.fd, 0, &every, NULL));
	co_loop(ep);
}
