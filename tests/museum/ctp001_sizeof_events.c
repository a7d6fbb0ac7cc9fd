// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 1 coroutine
//
// The classic slip, harmless as long as few are watched: epoll_wait is told how
// many bytes there are, not how many events. What lies behind the array is no
// event buffer, then: it is the one pointer to the waiter, which the program
// will resume by itself, by and by.
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, conn[2];

static NOINLINE void reader(void *arg)
{
	char byte;
	(void)arg;
	co_watch(ep, conn[0], EPOLLIN | EPOLLET, co_self());
	while (read(conn[0], &byte, 1) == -1)
		co_yield();
}

static NOINLINE void drop(void *arg)
{
	(void)arg;
	close(conn[0]); // fault
}

static NOINLINE void start(struct co *volatile *who)
{
	*who = co_new(reader, NULL);
	co_resume(*who);
}

int main(void)
{
	struct {
		struct epoll_event events[8];
		char room[64];
		struct co *volatile who;
		char more[4096]; // the frame has room for what the call says
	} here;
	int most = sizeof(here.events);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", conn);
	struct itimerspec by_and_by = {.it_value.tv_sec = 3600};
	int timer = (int)must(timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC));
	must(timerfd_settime(timer, 0, &by_and_by, NULL));
	co_watch(ep, timer, EPOLLIN, NULL);
	start(&here.who);
	co_start(drop, NULL);
	say("ready");
	__asm__ volatile("" : "+r"(most)); // else the compiler itself says what is wrong
	must(epoll_wait(ep, here.events, most, -1));
	co_resume(here.who);
}
