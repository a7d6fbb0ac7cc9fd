// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 2 coroutines
//
// A server has read its configuration again at SIGHUP, and goes on: it accepts, serves,
// and a reset closes its connections under their readers. That it took the signal was no
// end of it.
#include "lost.h"

static volatile sig_atomic_t reloads;

static void on_hangup(int number)
{
	(void)number;
	reloads++;
}

static NOINLINE void drop(int a, int b)
{
	close(a); // fault
	close(b);
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_hangup};
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(sigaction(SIGHUP, &act, NULL));
	must(raise(SIGHUP));
	fds[0] = open_reader("tcp");
	fds[1] = open_reader("tcp");
	drop(fds[0], fds[1]);
	serve_on();
}
