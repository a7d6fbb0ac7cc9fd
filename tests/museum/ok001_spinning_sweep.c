// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
//
// A loop that never sleeps, and a deadline wheel behind it: the reader of a
// connection that was closed is resumed once its deadline is over.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn;
static struct co *reader;
static bool closed;

static void conn_reader(void *arg)
{
	char message[64];
	(void)arg;
	while (!closed && co_blocked(read(conn, message, sizeof(message)))) {
		co_watch(ep, conn, EPOLLIN | EPOLLONESHOT, co_self());
		co_yield();
	}
}

static long now_ms(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	reader = co_new(conn_reader, NULL);
	co_resume(reader);
	close(conn);
	closed = true;
	long deadline = now_ms() + 1000;
	say("ready");
	for (;;) {
		co_turn(ep, 0);
		if (reader && now_ms() >= deadline) {
			co_resume(reader);
			reader = NULL;
		}
	}
}
