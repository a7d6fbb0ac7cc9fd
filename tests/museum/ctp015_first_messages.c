// SPDX-License-Identifier: MIT
// expect: CTP015 likely..proven, 2 coroutines in 1 finding
// engine: both
//
// A client and a server of one protocol, over a socketpair. Each was written to answer
// the other's greeting: both wait for it, neither has ever said a word, and there is
// nothing else in the program that could.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, ends[2];

static void party(void *arg)
{
	int fd = *(int *)arg;
	char greeting[16];
	for (;;) {
		must(co_read(ep, fd, greeting, sizeof(greeting))); // fault
		must(write(fd, "hello", 5));
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", ends);
	co_start(party, &ends[0]);
	co_start(party, &ends[1]);
	say("ready");
	co_loop(ep);
}
