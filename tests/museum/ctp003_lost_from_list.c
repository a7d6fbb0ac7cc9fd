// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 2 coroutines
//
// A mutex for coroutines keeps its waiters in a list. The unlock empties the
// list, but resumes only the first of the three that were in it.
#include <stdbool.h>
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static struct waiter {
	struct waiter *next;
	struct co *co;
} *waiters;
static bool locked = true;
static int ep;

static void lock(void)
{
	struct waiter me;
	while (locked) {
		me = (struct waiter){waiters, co_self()};
		waiters = &me;
		co_yield(); // fault
	}
	locked = true;
}

static NOINLINE void unlock(void)
{
	struct waiter *first = waiters;
	locked = false;
	waiters = NULL;
	if (first)
		co_resume(first->co);
}

static void critical(void *arg)
{
	(void)arg;
	lock();
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++)
		co_start(critical, NULL);
	unlock();
	say("ready");
	co_loop(ep);
}
