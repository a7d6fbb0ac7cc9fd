// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 2 coroutines
//
// Each connection is registered once, edge-triggered both ways. A request for a
// file is answered by sendfile until the client's window is full; then the
// sender waits for room, and the loop closes the connections of slow clients.
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/sendfile.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, file, conns[2][2], waiting;

static NOINLINE void send_file(int fd)
{
	for (;;) {
		off_t from = 0;
		while (sendfile(fd, file, &from, 1 << 20) > 0)
			from = 0; // the same once more
		waiting++;
		co_yield();
	}
}

static void sender(void *arg)
{
	int fd = *(int *)arg;
	char request;
	co_watch(ep, fd, EPOLLIN | EPOLLOUT | EPOLLET, co_self());
	while (read(fd, &request, 1) != 1)
		co_yield();
	send_file(fd);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	file = (int)must(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		pair("tcp", conns[i]);
		co_start(sender, &conns[i][0]);
		must(write(conns[i][1], "?", 1));
	}
	while (waiting < 2)
		co_turn(ep, -1);
	for (int i = 0; i < 4; i++)
		co_turn(ep, 20); // what the kernel still makes room for
	for (int i = 0; i < 2; i++)
		close(conns[i][0]); // fault
	say("ready");
	co_loop(ep);
}
