// SPDX-License-Identifier: MIT
// expect: clean
//
// Streams over one connection: each stream tries it first, and waits; one
// coroutine reads frames for all, and resumes the stream that a frame is for.
// The frame was for the first stream; the second waits on.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define STREAMS 2

static struct co *streams[STREAMS];
static int ep, conn;

static void stream(void *arg)
{
	int id = (int)(intptr_t)arg;
	char frame;
	for (;;) {
		if (!co_blocked(read(conn, &frame, 1)))
			continue;
		streams[id] = co_self();
		co_yield();
	}
}

static void demultiplexer(void *arg)
{
	char id;
	(void)arg;
	co_watch(ep, conn, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield();
		while (read(conn, &id, 1) == 1)
			co_resume(streams[id - '0']);
	}
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	co_start(demultiplexer, NULL);
	for (int i = 0; i < STREAMS; i++)
		co_start(stream, (void *)(intptr_t)i);
	must(write(fds[1], "0", 1));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
