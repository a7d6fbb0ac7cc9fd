// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
// needs: libevent-dev
//
// An echo server on libevent: each connection's event is persistent, with a time
// limit of its own, and its callback resumes the coroutine. A limit has run out
// once: that coroutine was resumed with it, and closed its connection itself.
#include <event2/event.h>
#include <event2/util.h>
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define CONNS 4

static struct conn {
	struct event *event;
	struct co *co;
	int fd, peer, echoed;
	short what; // that it was resumed for
	struct timeval limit;
} conns[CONNS];
static struct event_base *base;
static int ended;

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct conn *c = arg;
	(void)fd;
	c->what = what;
	co_resume(c->co);
}

static ssize_t conn_read(struct conn *c, char *buf, size_t n)
{
	ssize_t r;
	while (co_blocked(r = read(c->fd, buf, n))) {
		co_yield();
		if (c->what & EV_TIMEOUT)
			return 0;
	}
	return r;
}

static void echo(void *arg)
{
	struct conn *c = arg;
	char buf[64];
	ssize_t n;
	c->event = event_new(base, c->fd, EV_READ | EV_PERSIST, on_event, c);
	must(event_add(c->event, &c->limit));
	while ((n = conn_read(c, buf, sizeof(buf))) > 0) {
		must(write(c->fd, buf, (size_t)n));
		c->echoed++;
	}
	event_free(c->event); // before the descriptor goes
	close(c->fd);
	ended++;
}

static NOINLINE void open_conn(struct conn *c, long seconds, long us)
{
	int fds[2];
	pair("tcp", fds);
	*c = (struct conn){.fd = fds[0], .peer = fds[1], .limit = {seconds, us}};
	c->co = co_new(echo, c);
	co_resume(c->co);
}

static NOINLINE void say_hello(struct conn *c)
{
	char buf[16];
	int before = c->echoed;
	must(write(c->peer, "hello", 5));
	while (c->echoed == before)
		must(event_base_loop(base, EVLOOP_ONCE));
	must(read(c->peer, buf, sizeof(buf)) == 5 ? 0 : -1);
}

static void on_signal(evutil_socket_t number, short what, void *arg)
{
	(void)number;
	(void)what;
	event_base_loopbreak(arg);
}

static NOINLINE void hang_up(void)
{
	for (int i = 0; i < CONNS; i++)
		close(conns[i].peer);
	while (ended < CONNS)
		must(event_base_loop(base, EVLOOP_ONCE));
}

int main(void)
{
	base = event_base_new();
	struct event *order = evsignal_new(base, SIGUSR1, on_signal, base);
	must(event_add(order, NULL));
	open_conn(&conns[0], 0, 1000);
	while (!ended)
		must(event_base_loop(base, EVLOOP_ONCE));
	for (int i = 1; i < CONNS; i++)
		open_conn(&conns[i], 3600, 0);
	for (int i = 1; i < CONNS; i++)
		say_hello(&conns[i]);
	say("ready");
	event_base_dispatch(base);
	for (int i = 1; i < CONNS; i++)
		say_hello(&conns[i]);
	hang_up();
	event_free(order);
	event_base_free(base);
	say("resumed");
}
