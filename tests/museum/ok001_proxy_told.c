// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A proxy whose health check closes the upstreams of a backend that is down and
// resumes the sessions that wait for them; each goes on to wait for its client,
// which has been registered all the time.
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 2

static struct session {
	int client, upstream;
	struct co *co;
} sessions[SESSIONS];
static int ep;

static void forward(struct session *s)
{
	char answer[128];
	ssize_t n = -1;
	while (s->upstream >= 0 && co_blocked(n = read(s->upstream, answer, sizeof(answer)))) {
		co_watch(ep, s->upstream, EPOLLIN | EPOLLONESHOT, co_self());
		co_yield();
	}
	if (n > 0)
		must(write(s->client, answer, (size_t)n));
	else
		must(write(s->client, "502", 3));
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
	for (int i = 0; i < SESSIONS; i++) {
		close(sessions[i].upstream);
		sessions[i].upstream = -1;
		co_resume(sessions[i].co);
	}
}

int main(void)
{
	static struct co_handler down = {.fn = health_check};
	char text[16];
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
		sessions[i].co = co_new(serve, &sessions[i]);
		co_resume(sessions[i].co);
		must(write(clients[i], "GET", 3));
		must(co_turn(ep, -1) ? 0 : -1);
		must(read(backends[i], text, sizeof(text)));
	}
	must(write(down.fd, &(uint64_t){1}, 8));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
