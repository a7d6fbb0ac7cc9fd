// SPDX-License-Identifier: MIT
// expect: clean
// order: SIGUSR1
// needs: libevent-dev
//
// Sessions on libevent whose events fire once, and are added before each read. One
// has read all there is, and was told so; while it waits for an answer of the backend,
// in the mailbox that the backend's coroutine fills, it has no event, and the client
// has sent the next request already. Nothing is lost: it reads that one afterwards.
#include <event2/event.h>
#include <event2/util.h>
#include <signal.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct party {
	struct event *event;
	struct co *co;
	int fd, peer, got;
};
static struct party client, backend;
static struct event_base *base;
static bool answered;

static void on_event(evutil_socket_t fd, short what, void *arg)
{
	struct party *p = arg;
	(void)fd, (void)what;
	co_resume(p->co);
}

static ssize_t receive(struct party *p, char *buf, size_t n)
{
	ssize_t got;
	while (co_blocked(got = read(p->fd, buf, n))) {
		must(event_add(p->event, NULL));
		co_yield();
	}
	p->got++;
	return got;
}

static NOINLINE void await_answer(void)
{
	while (!answered)
		co_yield();
	answered = false;
}

static NOINLINE bool has_more(struct party *p)
{
	char byte;
	return read(p->fd, &byte, 1) == 1;
}

static void serve(void *arg)
{
	char buf[64];
	(void)arg;
	while (receive(&client, buf, sizeof(buf)) > 0) {
		must(write(backend.fd, "SELECT", 6));
		while (has_more(&client))
			;
		await_answer();
	}
}

static void fetch(void *arg)
{
	char buf[64];
	(void)arg;
	while (receive(&backend, buf, sizeof(buf)) > 0) {
		answered = true;
		co_resume(client.co);
	}
}

static void on_order(evutil_socket_t number, short what, void *arg)
{
	(void)number, (void)what, (void)arg;
	must(write(backend.peer, "row", 3));
}

static NOINLINE void begin(struct party *p, co_fn *fn)
{
	int fds[2];
	pair("tcp", fds);
	p->fd = fds[0];
	p->peer = fds[1];
	p->event = event_new(base, p->fd, EV_READ, on_event, p);
	p->co = co_new(fn, NULL);
	co_resume(p->co);
}

int main(void)
{
	base = event_base_new();
	must(event_add(evsignal_new(base, SIGUSR1, on_order, NULL), NULL));
	begin(&client, serve);
	begin(&backend, fetch);
	must(write(client.peer, "GET /1", 6));
	while (!client.got)
		must(event_base_loop(base, EVLOOP_ONCE));
	must(write(client.peer, "GET /2", 6));
	say("ready");
	while (client.got < 2)
		must(event_base_loop(base, EVLOOP_ONCE));
	say("resumed");
}
