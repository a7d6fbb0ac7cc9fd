// SPDX-License-Identifier: MIT
// expect: fact CTP007
//
// The library moves each connection to a high number and closes the one that
// accept gave, after it was registered. Events come under the old registration,
// and the reader reads by the new number: unusual, and all of it is wanted.
#include <fcntl.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { MESSAGES = 5 };

static int ep, conn[2], answer[2];

static void conn_reader(void *arg)
{
	char line[64];
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = co_self()};
	(void)arg;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, conn[0], &ev));
	int moved = (int)must(fcntl(conn[0], F_DUPFD_CLOEXEC, 50));
	close(conn[0]);
	for (;;) {
		if (co_blocked(read(moved, line, sizeof(line))))
			co_yield();
		else
			must(write(answer[1], "", 1));
	}
}

static void *client(void *arg)
{
	char byte;
	(void)arg;
	for (int i = 0; i < MESSAGES; i++) {
		must(write(conn[1], "hello", 5));
		must(read(answer[0], &byte, 1));
	}
	say("ready");
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(answer));
	pair("tcp", conn);
	co_start(conn_reader, NULL);
	co_thread(client, NULL);
	co_loop(ep);
}
