// SPDX-License-Identifier: MIT
// expect: CTP002 suspect..likely, 2 coroutines
//
// A gateway. Rows carry a descriptor's number, by which a table leads to the
// coroutine; the loop adds them once the coroutine has put down what it wants.
// Clients stay registered, to hear at once when they leave. A circuit breaker
// that opens takes the backends of a failing host out of the set, and forgets
// the calls that are under way on them.
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define FDS 128
#define CALLS 3

enum host { BILLING, STOCK, HOSTS };

static struct watcher {
	struct co *co;
	enum host host;
	bool is_backend, added;
} watchers[FDS];
static struct call {
	int client, caller, backend, server, done;
	enum host host;
} calls[CALLS];
static int ep, failures[HOSTS], wanted = -1, ticker;

static void want(int fd)
{
	watchers[fd].co = co_self();
	wanted = fd;
	co_yield();
}

static ssize_t get(int fd, char *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(fd, buf, n)))
		want(fd);
	return r;
}

static void gateway(void *arg)
{
	struct call *c = arg;
	char buf[128];
	ssize_t n;
	while ((n = get(c->client, buf, sizeof(buf))) > 0) {
		must(write(c->backend, buf, (size_t)n));
		if ((n = get(c->backend, buf, sizeof(buf))) <= 0)
			break;
		must(write(c->client, buf, (size_t)n));
		c->done++;
	}
}

// After each switch back: what the coroutine wants is registered for it, once.
static void arm(void)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = wanted};
	if (wanted >= 0 && !watchers[wanted].added) {
		must(epoll_ctl(ep, EPOLL_CTL_ADD, wanted, &ev));
		watchers[wanted].added = true;
	}
	wanted = -1;
}

static void open_breaker(enum host host)
{
	for (int fd = 0; fd < FDS; fd++)
		if (watchers[fd].is_backend && watchers[fd].host == host && watchers[fd].added) {
			must(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL)); // fault
			watchers[fd].added = false;
		}
}

static void health_check(void)
{
	uint64_t ticks;
	must(read(ticker, &ticks, sizeof(ticks)));
	for (int h = 0; h < HOSTS; h++)
		if (h == STOCK && ++failures[h] == 3) {
			open_breaker((enum host)h);
			say("ready");
		}
}

static void turn(int listener)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	if (ev.data.fd == listener)
		close(accept(listener, NULL, NULL));
	else if (ev.data.fd == ticker)
		health_check();
	else
		co_resume(watchers[ev.data.fd].co);
	arm();
}

static void begin(struct call *c, enum host host)
{
	int client[2], backend[2];
	pair("tcp", client);
	pair("tcp", backend);
	*c = (struct call){client[0], client[1], backend[0], backend[1], 0, host};
	watchers[c->backend] = (struct watcher){.host = host, .is_backend = true};
	co_start(gateway, c);
	arm();
	must(write(c->caller, "GET", 3));
}

int main(void)
{
	struct itimerspec every = {.it_value.tv_nsec = 10000000, .it_interval.tv_nsec = 10000000};
	int port, listener = tcp_listen(&port);
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = listener};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, listener, &ev));
	ticker = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	ev.data.fd = ticker;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, ticker, &ev));
	must(timerfd_settime(ticker, 0, &every, NULL));
	for (int i = 0; i < CALLS; i++)
		begin(&calls[i], i == 0 ? BILLING : STOCK);
	must(write(calls[0].server, "OK", 2));
	for (;;)
		turn(listener);
}
