// SPDX-License-Identifier: MIT
// expect: CTP008 likely..proven, 1 coroutine
//
// The dispatcher resumes a consumer only if it is marked as waiting. One path
// into the wait forgets the mark: the event comes, edge-triggered, is found to
// be for nobody, and is gone.
#include <stdbool.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct consumer {
	struct co *co;
	int fd;
	bool waiting;
} consumer;
static int ep;

static void consume(void *arg)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET, .data.ptr = &consumer};
	char buf[64];
	(void)arg;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, consumer.fd, &ev));
	for (;;) {
		co_yield(); // fault
		while (read(consumer.fd, buf, sizeof(buf)) > 0)
			;
	}
}

static NOINLINE void dispatch(void)
{
	struct epoll_event ev;
	struct consumer *c;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	c = ev.data.ptr;
	if (!c->waiting)
		return;
	c->waiting = false;
	co_resume(c->co);
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", fds);
	consumer.fd = fds[0];
	consumer.co = co_new(consume, NULL);
	consumer.waiting = true;
	co_resume(consumer.co);
	must(write(fds[1], "one", 3));
	dispatch();
	must(write(fds[1], "two", 3));
	dispatch();
	say("ready");
	for (;;)
		dispatch();
}
