// SPDX-License-Identifier: MIT
// expect: CTP002 suspect, 1 coroutine
// engine: both
//
// Streams with a mask each, which a command of the peer changes. The command for a
// quiet stream names the mask for urgent data, but such a stream goes on to send
// as before: where events of its first mask resumed the reader, it waits for more.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { STREAMS = 3, QUIET = 1 };

static int ep, fds[STREAMS][2], got;

static void stream(void *arg)
{
	int fd = *(int *)arg;
	uint32_t mask = EPOLLIN;
	char piece[16];
	for (;;) {
		while (co_blocked(read(fd, piece, sizeof(piece))))
			co_wait(ep, fd, mask | EPOLLONESHOT); // fault
		got++;
		if (piece[0] == 'q')
			mask = EPOLLPRI | EPOLLRDHUP;
	}
}

static void tell(const char *what, int more)
{
	int until = got + more;
	for (int i = 0; i < STREAMS; i++)
		must(write(fds[i][1], i == QUIET ? what : "piece", 5));
	while (got < until)
		co_turn(ep, -1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < STREAMS; i++) {
		pair("tcp", fds[i]);
		co_start(stream, &fds[i][0]);
	}
	tell("first", STREAMS);
	tell("quiet", STREAMS);
	tell("again", STREAMS - 1);
	say("ready");
	co_loop(ep);
}
