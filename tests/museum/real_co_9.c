// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 1 coroutine
//
// After dallison/co issue 9: each wait of a coroutine adds its descriptor to
// the epoll set and takes it out again when it wakes. While one waits, another
// coroutine is woken and closes that descriptor. The wait never ends (and
// where another descriptor ends it, the removal fails with EBADF).
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct coroutine {
	struct coroutine *next;
	struct co *co;
} scheduler[2], *coroutines;
static int ep, subscriber, control[2];

static void wait_for(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.ptr = co_self()};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	co_yield();
	must(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL));
}

static void receive_messages(void *arg)
{
	char message[64];
	(void)arg;
	do {
		wait_for(subscriber);
	} while (read(subscriber, message, sizeof(message)) > 0);
}

static void serve_control(void *arg)
{
	char command;
	(void)arg;
	for (;;) {
		wait_for(control[0]);
		if (read(control[0], &command, 1) == 1 && command == 'd') {
			close(subscriber); // fault
			say("ready");
		}
	}
}

static void spawn(struct coroutine *c, co_fn *fn)
{
	*c = (struct coroutine){coroutines, co_new(fn, NULL)};
	coroutines = c;
	co_resume(c->co);
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	pair("tcp", control);
	subscriber = fds[0];
	spawn(&scheduler[0], receive_messages);
	spawn(&scheduler[1], serve_control);
	must(write(control[1], "d", 1));
	co_loop(ep);
}
