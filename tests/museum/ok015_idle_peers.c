// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A player and a mixer talk over a socketpair, both ways; each waits for the
// other's next message. Nothing is wrong: the server listens, and the next
// client will make the mixer speak.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, port, ends[2];

static void player(void *arg)
{
	char message[16];
	(void)arg;
	must(write(ends[0], "hello", 5));
	for (;;)
		must(co_read(ep, ends[0], message, sizeof(message)));
}

static void mixer(void *arg)
{
	char message[16];
	(void)arg;
	for (int i = 0;; i++) {
		must(co_read(ep, ends[1], message, sizeof(message)));
		must(write(ends[1], "welcome", 7));
		say("ready");
	}
}

static void acceptor(void *arg)
{
	co_wait(ep, *(int *)arg, EPOLLIN);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	int listener = tcp_listen(&port);
	pair("unix", ends);
	co_start(acceptor, &listener);
	co_start(mixer, NULL);
	co_start(player, NULL);
	co_loop(ep);
}
