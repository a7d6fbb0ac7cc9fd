// SPDX-License-Identifier: MIT
// expect: CTP005 likely..proven, 2 coroutines
// engine: both
//
// A request is read, answered, and the session goes back to the place where the
// first event found it. It never reads until there is no more, so nothing said
// EAGAIN, and the one-shot row is not armed for the next request.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 2

static int ep, conns[SESSIONS];

static void session(void *arg)
{
	char request[64];
	int fd = *(int *)arg;
	co_watch(ep, fd, EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, co_self());
	for (;;) {
		co_yield(); // fault
		ssize_t n = read(fd, request, sizeof(request));
		if (n <= 0)
			return;
		must(write(fd, "OK", 2));
	}
}

int main(void)
{
	char answer[8];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < SESSIONS; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(session, &conns[i]);
		must(write(fds[1], "PING", 4));
		must(co_turn(ep, -1) ? 0 : -1);
		must(read(fds[1], answer, sizeof(answer)));
		if (i) // the other client is silent for now
			must(write(fds[1], "PING", 4));
	}
	say("ready");
	co_loop(ep);
}
