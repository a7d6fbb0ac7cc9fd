// SPDX-License-Identifier: MIT
// expect: CTP001 none..inconclusive, 2 coroutines
//
// Told to drain, a server closes its listener, and then its sessions' connections. It
// leaves their readers as they stand, for it will end when the last answer has been
// written; another port, for its figures, is open till then.
#include "lost.h"

static NOINLINE void drain(int listener, int a, int b)
{
	close(listener);
	close(a);
	close(b);
}

int main(void)
{
	int fds[2], port;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	int listener = tcp_listen(&port);
	fds[0] = open_reader("tcp");
	fds[1] = open_reader("tcp");
	drain(listener, fds[0], fds[1]);
	serve_on();
}
