// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 1 coroutine
//
// A channel with room for one waiting receiver. One has been served already; then
// a second receiver comes to wait, and takes the place of the first, whom nobody
// knows any more.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static struct {
	struct co *receiver;
	int full;
} channel;
static int ep;

static NOINLINE void send_one(void)
{
	channel.full = 1;
	if (channel.receiver)
		co_resume(channel.receiver);
}

static void receive(void *arg)
{
	(void)arg;
	while (!channel.full) {
		channel.receiver = co_self();
		co_yield(); // fault
	}
	channel.full = 0;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_start(receive, NULL);
	send_one();
	co_start(receive, NULL);
	co_start(receive, NULL);
	say("ready");
	for (;;)
		if (co_turn(ep, -1)) // there will be senders
			send_one();
}
