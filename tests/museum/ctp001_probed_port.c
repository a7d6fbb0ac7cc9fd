// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 2 coroutines
//
// At its start the server looks whether a port is free: it listens there, and closes
// that. Then it listens for good. A reset closes connections under their readers, whom
// nobody else knows. That a listener was closed once is no shutdown.
#include "lost.h"

static NOINLINE void probe(void)
{
	int port;
	close(tcp_listen(&port));
}

static NOINLINE void reset(const int fds[2])
{
	for (int i = 0; i < 2; i++)
		close(fds[i]); // fault
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	fds[0] = open_reader("unix");
	probe();
	fds[1] = open_reader("tcp");
	reset(fds);
	serve_on();
}
