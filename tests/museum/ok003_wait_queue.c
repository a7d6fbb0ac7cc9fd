// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A condition variable for coroutines: the queue leads to a node on the first
// waiter's own stack, and from node to node. Nobody signals, as yet.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static struct node {
	struct node *next;
	struct co *co;
} *queue;
static int ep;

static void waiter(void *arg)
{
	struct node me = {queue, co_self()};
	(void)arg;
	queue = &me;
	co_yield();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 5; i++)
		co_start(waiter, NULL);
	say("ready");
	co_loop(ep);
}
