// SPDX-License-Identifier: MIT
// expect: CTP005 likely, 2 coroutines in 1 finding
// engine: both
//
// A proxy: the client of a session is registered level-triggered for good, its
// upstream one-shot. The second part of an answer finds the upstream's row
// unarmed: only a word of the client's would resume the session.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 2

static struct session {
	int client, upstream;
} sessions[SESSIONS];
static int ep;

static void serve(void *arg)
{
	struct session *s = arg;
	char part[64];
	ssize_t n;
	co_watch(ep, s->client, EPOLLIN | EPOLLRDHUP, co_self());
	co_yield();
	must(n = read(s->client, part, sizeof(part)));
	must(write(s->upstream, part, (size_t)n));
	co_watch(ep, s->upstream, EPOLLIN | EPOLLONESHOT, co_self());
	for (;;) {
		n = read(s->upstream, part, sizeof(part));
		if (co_blocked(n))
			co_yield(); // fault
		else if (n > 0)
			must(write(s->client, part, (size_t)n));
		else
			return;
	}
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SESSIONS; i++) {
		char text[64];
		int client, backend;
		pair("tcp", fds);
		sessions[i].client = fds[0];
		client = fds[1];
		pair("tcp", fds);
		sessions[i].upstream = fds[0];
		backend = fds[1];
		co_start(serve, &sessions[i]);
		must(write(client, "GET", 3));
		must(co_turn(ep, -1) ? 0 : -1);
		must(read(backend, text, sizeof(text)));
		must(write(backend, "head", 4));
		must(co_turn(ep, -1) ? 0 : -1);
		must(read(client, text, sizeof(text)));
		must(write(backend, "body", 4));
	}
	say("ready");
	co_loop(ep);
}
