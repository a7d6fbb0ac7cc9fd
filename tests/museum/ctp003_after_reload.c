// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 1 coroutine
//
// A mailbox with room for one waiting receiver. At SIGHUP the program has read its
// configuration again, and it goes on. One receiver has been served; then a second
// comes to wait, and takes the place of the first, whom nobody knows any more.
#include <signal.h>
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static struct {
	struct co *receiver;
	int full;
} mailbox;
static int ep;
static volatile sig_atomic_t reloads;

static void on_hangup(int number)
{
	(void)number;
	reloads++;
}

static NOINLINE void send_one(void)
{
	mailbox.full = 1;
	if (mailbox.receiver)
		co_resume(mailbox.receiver);
}

static void receive(void *arg)
{
	(void)arg;
	while (!mailbox.full) {
		mailbox.receiver = co_self();
		co_yield(); // fault
	}
	mailbox.full = 0;
}

int main(void)
{
	struct sigaction act = {.sa_handler = on_hangup};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(sigaction(SIGHUP, &act, NULL));
	must(raise(SIGHUP));
	co_start(receive, NULL);
	send_one();
	co_start(receive, NULL);
	co_start(receive, NULL);
	say("ready");
	for (;;)
		if (co_turn(ep, -1)) // there will be senders
			send_one();
}
