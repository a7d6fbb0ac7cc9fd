// SPDX-License-Identifier: MIT
// expect: CTP001 none..inconclusive, 2 coroutines
// end: exit
//
// A handled SIGINT begins an end that takes its time: the loop turns on, closes the
// connections one by one and leaves their readers as they stand, writes out what it
// has, and returns. No listener and no SIGTERM tells that this is the end.
#include "lost.h"

enum { TURNS = 10 };

static volatile sig_atomic_t stop;

static void on_interrupt(int number)
{
	(void)number;
	stop = 1;
}

static NOINLINE void drain(const int *fds)
{
	struct epoll_event ev;
	for (int i = 0; i < TURNS; i++) {
		if (i < 2)
			close(fds[i]);
		wipe_frames();
		epoll_wait(ep, &ev, 1, 100);
	}
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_interrupt};
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(sigaction(SIGINT, &act, NULL));
	fds[0] = open_reader("tcp");
	fds[1] = open_reader("tcp");
	must(raise(SIGINT));
	while (!stop)
		co_turn(ep, -1);
	drain(fds);
	say("goodbye");
}
