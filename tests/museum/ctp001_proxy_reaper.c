// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 2 coroutines
//
// A proxy on contexts of its own. Each session has two endpoints; the acceptor
// registers the client's for as long as it lasts, level-triggered, and the
// session adds the backend's when it waits for an answer. A reaper closes
// backend connections that were silent for two ticks, although two sessions
// wait for them. Nobody resumes those: what the client's row brings is only
// noted while a session waits for its backend.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/timerfd.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

#define SESSIONS 3
#define STACK (32 << 10)

struct endpoint {
	struct session *owner;
	int fd;
};

struct session {
	ucontext_t context;
	struct endpoint client, backend;
	const struct endpoint *waits_for;
	int silent_ticks, noted, answered;
	char *stack;
};

static struct session *sessions[SESSIONS], *running;
static ucontext_t loop;
static struct endpoint listener, ticker;
static int ep, nsessions, backends[SESSIONS][2];

static void watch(struct endpoint *e, uint32_t events)
{
	struct epoll_event ev = {.events = events, .data.ptr = e};
	if (epoll_ctl(ep, EPOLL_CTL_MOD, e->fd, &ev) < 0)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, e->fd, &ev));
}

static void suspend(struct session *s, const struct endpoint *e)
{
	s->waits_for = e;
	swapcontext(&s->context, &loop);
	s->waits_for = NULL;
}

static ssize_t read_client(struct session *s, char *buf, size_t n)
{
	ssize_t r;
	while ((r = read(s->client.fd, buf, n)) < 0 && errno == EAGAIN)
		suspend(s, &s->client);
	return r;
}

static ssize_t read_backend(struct session *s, char *buf, size_t n)
{
	ssize_t r;
	while ((r = read(s->backend.fd, buf, n)) < 0 && errno == EAGAIN) {
		watch(&s->backend, EPOLLIN | EPOLLONESHOT);
		suspend(s, &s->backend);
	}
	return r;
}

static void session_main(void)
{
	struct session *s = running;
	char buf[256];
	ssize_t n;
	while ((n = read_client(s, buf, sizeof(buf))) > 0) {
		must(write(s->backend.fd, buf, (size_t)n));
		if ((n = read_backend(s, buf, sizeof(buf))) <= 0)
			break;
		must(write(s->client.fd, buf, (size_t)n));
		s->answered++;
	}
}

static void resume(struct session *s)
{
	running = s;
	s->silent_ticks = 0;
	swapcontext(&loop, &s->context);
}

static void accept_client(void)
{
	struct session *s = must_alloc(sizeof(*s));
	s->client = (struct endpoint){s, (int)must(accept4(listener.fd, NULL, NULL, SOCK_NONBLOCK))};
	s->backend = (struct endpoint){s, backends[nsessions][0]};
	s->stack = must_map(STACK);
	must(getcontext(&s->context));
	s->context.uc_stack.ss_sp = s->stack;
	s->context.uc_stack.ss_size = STACK;
	s->context.uc_link = &loop;
	makecontext(&s->context, session_main, 0);
	sessions[nsessions++] = s;
	watch(&s->client, EPOLLIN | EPOLLRDHUP);
	resume(s);
}

static void reap(void)
{
	uint64_t ticks;
	static int turns;
	must(read(ticker.fd, &ticks, sizeof(ticks)));
	for (int i = 0; i < nsessions; i++) {
		struct session *s = sessions[i];
		if (s->waits_for == &s->backend && ++s->silent_ticks == 2)
			close(s->backend.fd); // fault
	}
	if (++turns == 4)
		say("ready");
}

static void on_event(struct endpoint *e)
{
	if (e == &listener)
		accept_client();
	else if (e == &ticker)
		reap();
	else if (e->owner->waits_for == e)
		resume(e->owner);
	else
		e->owner->noted++;
}

int main(void)
{
	struct itimerspec every = {.it_value.tv_nsec = 20000000, .it_interval.tv_nsec = 20000000};
	struct epoll_event ev;
	int port, clients[SESSIONS];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	listener.fd = tcp_listen(&port);
	watch(&listener, EPOLLIN);
	ticker.fd = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
	must(timerfd_settime(ticker.fd, 0, &every, NULL));
	watch(&ticker, EPOLLIN);
	for (int i = 0; i < SESSIONS; i++) {
		pair("tcp", backends[i]);
		clients[i] = tcp_connect(port);
		must(write(clients[i], "GET /", 5));
	}
	must(write(backends[2][1], "200", 3)); // the only one that answers
	for (;;)
		if (epoll_wait(ep, &ev, 1, -1) == 1)
			on_event(ev.data.ptr);
}
