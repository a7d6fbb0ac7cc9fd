// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 2 coroutines in 1 finding
// engine: both
//
// A proxy. Each session's client stays registered from beginning to end, level-
// triggered, so that a request or a hang-up is never missed; its upstream is
// registered for the time of an answer. A health check closes the upstreams of
// a backend that is down, and does not tell the sessions that wait for them.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 2

static struct session {
	int client, upstream;
} sessions[SESSIONS];
static int ep;

static void forward(struct session *s)
{
	char answer[128];
	ssize_t n;
	while (co_blocked(n = read(s->upstream, answer, sizeof(answer)))) {
		co_watch(ep, s->upstream, EPOLLIN | EPOLLONESHOT, co_self());
		co_yield(); // fault
	}
	must(n);
	must(write(s->client, answer, (size_t)n));
}

static void serve(void *arg)
{
	struct session *s = arg;
	char request[128];
	ssize_t n;
	co_watch(ep, s->client, EPOLLIN | EPOLLRDHUP, co_self());
	for (;;) {
		while (co_blocked(n = read(s->client, request, sizeof(request))))
			co_yield();
		if (n <= 0)
			return;
		must(write(s->upstream, request, (size_t)n));
		forward(s);
	}
}

static void health_check(struct co_handler *h, uint32_t events)
{
	uint64_t failures;
	(void)events;
	must(read(h->fd, &failures, sizeof(failures)));
	for (int i = 0; i < SESSIONS; i++)
		close(sessions[i].upstream); // fault
}

int main(void)
{
	static struct co_handler down = {.fn = health_check};
	char request[16];
	int clients[SESSIONS], backends[SESSIONS], fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	down.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &down, EPOLLIN);
	for (int i = 0; i < SESSIONS; i++) {
		pair("tcp", fds);
		sessions[i].client = fds[0];
		clients[i] = fds[1];
		pair("tcp", fds);
		sessions[i].upstream = fds[0];
		backends[i] = fds[1];
		co_start(serve, &sessions[i]);
	}
	for (int round = 0; round < 2; round++)
		for (int i = 0; i < SESSIONS; i++) {
			must(write(clients[i], "GET", 3));
			must(co_turn(ep, -1) ? 0 : -1);
			must(read(backends[i], request, sizeof(request)));
			if (round)
				continue; // the second answer never comes
			must(write(backends[i], "200", 3));
			must(co_turn(ep, -1) ? 0 : -1);
		}
	must(write(down.fd, &(uint64_t){1}, 8));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
