// SPDX-License-Identifier: MIT
// expect: CTP005 likely..proven, 2 coroutines
// engine: both
//
// The loop registers a connection after the switch, once, when the reader first
// suspends: that it must arm the one-shot row for every wait, it has forgotten.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define READERS 2

static struct reader {
	int fd;
	struct co *co;
	bool registered;
} readers[READERS];
static int ep;

static void read_messages(void *arg)
{
	struct reader *r = arg;
	char message[64];
	ssize_t n;
	for (;;) {
		while (co_blocked(n = read(r->fd, message, sizeof(message))))
			co_yield(); // fault
		if (n <= 0)
			return;
	}
}

static NOINLINE void run(struct reader *r)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = r};
	co_resume(r->co);
	if (!r->registered)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, r->fd, &ev));
	r->registered = true;
}

static NOINLINE void turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		run(ev.data.ptr);
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < READERS; i++) {
		pair("tcp", fds);
		readers[i].fd = fds[0];
		readers[i].co = co_new(read_messages, &readers[i]);
		run(&readers[i]);
		must(write(fds[1], "one", 3));
		turn();
		must(write(fds[1], "two", 3));
	}
	say("ready");
	for (;;)
		turn();
}
