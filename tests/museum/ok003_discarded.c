// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A housekeeper that is done and parks itself for the rest of the run, and main's
// helper that waits for an end nobody will announce: nothing leads to either,
// and nobody misses them. None was ever resumed from where it stands.
#include <sys/epoll.h>

#include "co.h"
#include "must.h"

static int ep, done;

static void housekeeper(void *arg)
{
	(void)arg;
	co_yield(); // its first turn comes at once
	done++;
	for (;;)
		co_yield();
}

static void until_the_end(void *arg)
{
	(void)arg;
	co_yield();
}

static NOINLINE void keep_house(void)
{
	struct co *c = co_new(housekeeper, NULL);
	co_resume(c);
	co_resume(c);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	keep_house();
	co_start(until_the_end, NULL);
	say(done ? "ready" : "not done");
	co_loop(ep);
}
