// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 2 coroutines
//
// A file server with passive transfers: each has a listener of its own, closed when its
// client has come. Sessions that are accepted afterwards are closed under their readers,
// whom nobody else knows, while the server goes on to listen for more.
#include <sys/socket.h>

#include "lost.h"

static NOINLINE void transfer(void)
{
	int port, listener = tcp_listen(&port), client = tcp_connect(port);
	close((int)must(accept(listener, NULL, NULL)));
	close(client);
	close(listener);
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
	pair("tcp", fds);
	transfer();
	for (int i = 0; i < 2; i++)
		fds[i] = open_reader("tcp");
	reset(fds);
	serve_on();
}
