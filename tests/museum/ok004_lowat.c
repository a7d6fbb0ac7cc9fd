// SPDX-License-Identifier: MIT
// expect: clean
//
// Frames of ten bytes on an edge-triggered socket with SO_RCVLOWAT. Half a frame
// lies in the queue: the kernel does not call that readable, and will make an
// edge when the rest has come.
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define FRAME 10

static int ep, conn;

static void frame_reader(void *arg)
{
	char frame[FRAME];
	int whole = FRAME;
	(void)arg;
	must(setsockopt(conn, SOL_SOCKET, SO_RCVLOWAT, &whole, sizeof(whole)));
	co_watch(ep, conn, EPOLLIN | EPOLLET, co_self());
	for (;;) {
		co_yield();
		must(read(conn, frame, FRAME));
	}
}

int main(void)
{
	int fds[2], queued = 0;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	conn = fds[0];
	co_start(frame_reader, NULL);
	must(write(fds[1], "0123456789", 10));
	must(co_turn(ep, -1) ? 0 : -1);
	must(write(fds[1], "01234", 5));
	while (queued != 5)
		must(ioctl(conn, FIONREAD, &queued));
	say("ready");
	co_loop(ep);
}
