// SPDX-License-Identifier: MIT
// expect: clean
//
// A reader and a writer share a socket and its row, whose data leads to the
// reader. An event about room wakes the reader too, who resumes the writer. The
// reader has nothing to read.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *waiting_writer;
static int ep, conn, turns;

static void reader(void *arg)
{
	char buf[64];
	(void)arg;
	co_watch(ep, conn, EPOLLIN | EPOLLOUT | EPOLLET, co_self());
	for (;;) {
		while (!co_blocked(read(conn, buf, sizeof(buf))))
			;
		co_yield();
		turns++;
		if (waiting_writer)
			co_resume(waiting_writer);
	}
}

static void writer(void *arg)
{
	static const char block[4096];
	(void)arg;
	for (;;)
		if (co_blocked(write(conn, block, sizeof(block)))) {
			waiting_writer = co_self();
			co_yield();
		}
}

int main(void)
{
	char buf[64];
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	conn = fds[0];
	co_start(reader, NULL);
	co_start(writer, NULL);
	must(write(fds[1], "hello", 5));
	while (!turns)
		co_turn(ep, -1);
	must(read(fds[1], buf, sizeof(buf)));
	say("ready");
	co_loop(ep);
}
