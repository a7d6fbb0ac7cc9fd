// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
// needs: libev-dev
//
// A market data fan-out on libev. A subscriber's coroutine has two watchers: its
// client's, started for good, and its feed's, started for each wait; libev adds
// both rows itself before it polls. When an exchange ends its session the server
// closes the feeds by hand and stops no watcher: two coroutines wait on.
#include <ev.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SUBSCRIBERS 4

typedef struct {
	ev_io watcher;
	struct subscriber *owner;
} io;

struct subscriber {
	io client, feed;
	struct co *co;
	int exchange, browser, publisher, quotes;
	bool wants_feed;
};

static struct ev_loop *loop;
static struct subscriber *subscribers[SUBSCRIBERS];
static int served;
static ev_io doorbell;
static ev_timer session_end;

static void on_io(EV_P_ ev_io *w, int revents)
{
	io *me = (io *)w;
	struct subscriber *s = me->owner;
	(void)loop, (void)revents;
	if (me == &s->feed)
		co_resume(s->co);
	else if (!s->wants_feed)
		co_resume(s->co);
}

static ssize_t next_quote(struct subscriber *s, char *buf, size_t n)
{
	ssize_t got = read(s->feed.watcher.fd, buf, n);
	while (co_blocked(got)) {
		ev_io_start(loop, &s->feed.watcher);
		s->wants_feed = true;
		co_yield();
		s->wants_feed = false;
		ev_io_stop(loop, &s->feed.watcher);
		got = read(s->feed.watcher.fd, buf, n);
	}
	return got;
}

static void subscriber_main(void *arg)
{
	struct subscriber *s = arg;
	char quote[64];
	ssize_t n;
	ev_io_start(loop, &s->client.watcher);
	while ((n = next_quote(s, quote, sizeof(quote))) > 0) {
		must(write(s->client.watcher.fd, quote, (size_t)n));
		if (!s->quotes++ && ++served == SUBSCRIBERS)
			ev_timer_again(loop, &session_end); // libev adds the rows of the next waits before that
	}
	ev_io_stop(loop, &s->client.watcher);
	close(s->client.watcher.fd);
}

static NOINLINE void subscribe(int i)
{
	struct subscriber *s = subscribers[i] = must_alloc(sizeof(*s));
	int client[2], feed[2];
	pair("tcp", client);
	pair("unix", feed);
	ev_io_init(&s->client.watcher, on_io, client[0], EV_READ);
	ev_io_init(&s->feed.watcher, on_io, feed[0], EV_READ);
	s->client.owner = s->feed.owner = s;
	s->exchange = i & 1;
	s->browser = client[1];
	s->publisher = feed[1];
	s->co = co_new(subscriber_main, s);
	co_resume(s->co);
	must(write(s->publisher, "100.1", 5));
}

static void end_session(int exchange)
{
	for (int i = 0; i < SUBSCRIBERS; i++)
		if (subscribers[i]->exchange == exchange)
			close(subscribers[i]->feed.watcher.fd); // fault
}

static void on_session_end(EV_P_ ev_timer *timer, int revents)
{
	static int ticks;
	(void)revents;
	if (++ticks == 1)
		end_session(1);
	else if (ticks == 3)
		say("ready");
	ev_timer_again(EV_A_ timer);
}

static void on_doorbell(EV_P_ ev_io *w, int revents)
{
	(void)loop, (void)revents;
	close(accept(w->fd, NULL, NULL));
}

int main(void)
{
	int port;
	loop = ev_default_loop(EVBACKEND_EPOLL);
	ev_io_init(&doorbell, on_doorbell, tcp_listen(&port), EV_READ);
	ev_io_start(loop, &doorbell);
	ev_timer_init(&session_end, on_session_end, 0.03, 0.03);
	for (int i = 0; i < SUBSCRIBERS; i++)
		subscribe(i);
	return ev_run(loop, 0);
}
