// SPDX-License-Identifier: MIT
// expect: CTP004 suspect, 3 coroutines
// end: kill
//
// Two workers, connections edge-triggered: each session reads the first line of
// what has come, byte by byte, and goes to wait for the next event. The rest
// stays. The peers are on TCP, and may send again at any time.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define SESSIONS 3

static int ep, conns[SESSIONS], parked[2];

static void read_line(int fd)
{
	char c = 0;
	while (c != '\n' && read(fd, &c, 1) == 1)
		;
}

static void session(void *arg)
{
	int fd = *(int *)arg;
	co_watch(ep, fd, EPOLLIN | EPOLLRDHUP | EPOLLET, co_self());
	for (;;) {
		co_yield(); // fault
		read_line(fd);
	}
}

static void on_parked(struct co *c)
{
	(void)c;
	must(write(parked[1], "", 1));
}

int main(void)
{
	pthread_t workers[2];
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(parked));
	co_parked = on_parked;
	for (int i = 0; i < 2; i++)
		workers[i] = co_loop_thread(&ep);
	for (int i = 0; i < SESSIONS; i++) {
		int fds[2];
		pair("tcp", fds);
		conns[i] = fds[0];
		co_start(session, &conns[i]);
		must(read(parked[0], &byte, 1));
		must(write(fds[1], "HELO\nMAIL\n", 10));
		must(read(parked[0], &byte, 1));
	}
	say("ready");
	pthread_join(workers[0], NULL);
}
