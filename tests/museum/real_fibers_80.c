// SPDX-License-Identifier: MIT
// expect: CTP001 likely..proven, 1 coroutine
//
// After wingo/fibers issue 80: a fiber waits in accept on a Unix socket; the
// main fiber shuts the socket down and closes it. The scheduler keeps a table
// from number to waiting fiber, one-shot; nothing looks into it at a close.
// "That fiber is never woken up."
#include <stddef.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *waiters[64]; // by number
static struct co *run_queue[4];
static int ep, queued, server;
static bool accepting;

static int open_server_socket(void)
{
	struct sockaddr_un any = {.sun_family = AF_UNIX};
	int fd = (int)must(socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
	must(bind(fd, (struct sockaddr *)&any, offsetof(struct sockaddr_un, sun_path))); // the kernel finds a name
	must(listen(fd, 10));
	return fd;
}

static void wait_until_readable(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP | EPOLLONESHOT, .data.fd = fd};
	waiters[fd] = co_self();
	must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	co_yield();
}

static void accept_fiber(void *arg)
{
	(void)arg;
	accepting = true;
	while (accept4(server, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC) < 0)
		wait_until_readable(server);
}

static void main_fiber(void *arg)
{
	(void)arg;
	while (!accepting) {
		run_queue[queued++] = co_self();
		co_yield();
	}
	shutdown(server, SHUT_RD);
	close(server); // fault
	say("ready");
}

static void run_fibers(void)
{
	while (queued > 0) {
		struct co *next = run_queue[--queued];
		co_resume(next);
	}
}

static void poll_fds(void)
{
	struct epoll_event ev;
	if (epoll_wait(ep, &ev, 1, -1) != 1)
		return;
	run_queue[queued++] = waiters[ev.data.fd];
	waiters[ev.data.fd] = NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	server = open_server_socket();
	run_queue[queued++] = co_new(main_fiber, NULL);
	run_queue[queued++] = co_new(accept_fiber, NULL);
	for (;;) {
		run_fibers();
		poll_fds();
	}
}
