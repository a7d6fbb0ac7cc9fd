// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
// engine: both
//
// After romange/helio pull request 475 (Dragonfly hung at its end): the proactor
// registers each socket once, edge-triggered, with the index of a callback; a
// fiber that reads sleeps until the callback wakes it. Another fiber shuts the
// socket down and closes it without yielding in between: the close takes the
// row out of the set and the callback out of the table before the loop could
// see the end of the stream, and the reader sleeps for ever.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct epoll_socket {
	int fd;
	struct co *reader; // whom the callback wakes
} sockets[4];
static int ep, replica;

static void arm(unsigned index, int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET | EPOLLRDHUP, .data.u32 = index};
	sockets[index].fd = fd;
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
}

static NOINLINE void suspend_until_readable(unsigned index)
{
	sockets[index].reader = co_self();
	co_yield();
}

static ssize_t recv_some(unsigned index, void *buf, size_t n)
{
	for (;;) {
		ssize_t r = read(sockets[index].fd, buf, n);
		if (!co_blocked(r))
			return r;
		suspend_until_readable(index);
	}
}

static void replication_fiber(void *arg)
{
	unsigned index = (unsigned)(uintptr_t)arg;
	char journal[64];
	while (recv_some(index, journal, sizeof(journal)) > 0)
		;
}

static NOINLINE void close_socket(unsigned index)
{
	int fd = sockets[index].fd;
	must(shutdown(fd, SHUT_RDWR));
	must(epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL));
	sockets[index] = (struct epoll_socket){-1, NULL};
	close(fd); // fault
}

static void cancel_replication(void *arg)
{
	uint64_t n;
	(void)arg;
	must(recv_some(1, &n, sizeof(n)) == sizeof(n) ? 0 : -1);
	close_socket(0);
	say("ready");
}

static NOINLINE void wake(unsigned index)
{
	struct co *reader = sockets[index].reader;
	sockets[index].reader = NULL;
	if (reader)
		co_resume(reader);
}

static NOINLINE void proactor_turn(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) == 1)
		wake(ev.data.u32);
}

int main(void)
{
	int fds[2], cancel = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	replica = fds[1];
	arm(0, fds[0]);
	arm(1, cancel);
	co_start(replication_fiber, (void *)0);
	co_start(cancel_replication, NULL);
	must(write(replica, "SET x 1", 7));
	proactor_turn();
	must(write(cancel, &one, sizeof(one)));
	for (;;)
		proactor_turn();
}
