// SPDX-License-Identifier: MIT
// expect: clean
//
// A balancer moves a connection under its waiting reader: out of one worker's
// set and into another's, with the same data. The other worker resumes it from
// now on, and has done so once.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ours, theirs, conn[2], echoed[2];
static struct co *reader;

static void conn_reader(void *arg)
{
	char buf[64];
	ssize_t n;
	(void)arg;
	co_watch(ours, conn[0], EPOLLIN, co_self());
	for (;;) {
		co_yield();
		if ((n = read(conn[0], buf, sizeof(buf))) <= 0)
			return;
		must(write(echoed[1], buf, (size_t)n));
	}
}

static NOINLINE void move(void)
{
	must(epoll_ctl(ours, EPOLL_CTL_DEL, conn[0], NULL));
	co_watch(theirs, conn[0], EPOLLIN, reader);
}

int main(void)
{
	char byte;
	ours = (int)must(epoll_create1(EPOLL_CLOEXEC));
	theirs = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(echoed));
	pair("tcp", conn);
	reader = co_new(conn_reader, NULL);
	co_resume(reader);
	co_loop_thread(&theirs);
	move();
	must(write(conn[1], "x", 1));
	must(read(echoed[0], &byte, 1));
	say("ready");
	co_loop(ours);
}
