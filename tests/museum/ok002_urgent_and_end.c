// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Masks without EPOLLIN that are meant. A watcher waits for urgent data alone, and
// leaves to others what else comes by its descriptor. A relay reads its source until
// EAGAIN, and while its sink is full asks of the source only that the peer's end is
// told, though more has come: who cannot pass it on need not read it.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, watched[2], source[2], sink[2], full, relayed;
static struct co *relay_co;

static void watch(void *arg)
{
	char urgent;
	(void)arg;
	co_wait(ep, watched[0], EPOLLPRI);
	must(read(watched[0], &urgent, 1));
}

// The sink has no room: the source is asked for its end alone until it has.
static NOINLINE void hold_back(void)
{
	full = 1;
	co_watch(ep, source[0], EPOLLRDHUP, relay_co);
	co_wait(ep, sink[0], EPOLLOUT);
	full = 0;
}

static void relay(void *arg)
{
	static char piece[4096];
	(void)arg;
	relay_co = co_self();
	for (;;) {
		ssize_t n = read(source[0], piece, sizeof(piece));
		if (!co_blocked(n)) {
			relayed += n > 0;
			continue;
		}
		if (relayed)
			while (co_blocked(write(sink[0], piece, sizeof(piece))))
				hold_back();
		co_wait(ep, source[0], EPOLLIN);
	}
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", watched);
	pair("unix", source);
	pair("unix", sink);
	co_start(watch, NULL);
	co_start(relay, NULL);
	must(write(watched[1], "usual", 5));
	while (!full) {
		must(write(source[1], "piece", 5));
		co_turn(ep, -1);
	}
	must(write(source[1], "more", 4));
	say("ready");
	co_loop(ep);
}
