// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 1 coroutine
//
// After sustrik/libdill issue 129: a listener is closed while a coroutine waits
// in accept. The pollset refuses to forget the number, as somebody waits for
// it, and that error is ignored: the socket is closed, the number stays cached
// as "registered". The next listener gets the number; the pollset thinks that
// its registration is there, and makes none. Neither coroutine ever wakes: the
// first is lost, even to the pollset; the second stands in it, and waits for
// what was never registered (parked, as far as anyone can tell).
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct {
	struct co *in;
	bool cached;
} pollset[64];
static int ep, hung_up;

static void fdin(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN, .data.fd = fd};
	if (!pollset[fd].cached)
		must(epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	pollset[fd].cached = true;
	pollset[fd].in = co_self();
	co_yield();
	pollset[fd].in = NULL;
}

static int fdclean(int fd)
{
	if (pollset[fd].in)
		return -1; // busy
	pollset[fd].cached = false;
	return epoll_ctl(ep, EPOLL_CTL_DEL, fd, NULL);
}

static NOINLINE void fd_close(int fd)
{
	fdclean(fd);
	close(fd); // fault
}

static void acceptor(void *arg)
{
	int listener = (int)(intptr_t)arg;
	for (;;) {
		int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
		if (fd >= 0)
			close(fd);
		else
			fdin(listener);
	}
}

static void restart(void *arg)
{
	int port, old = (int)(intptr_t)arg, fresh;
	char byte;
	fdin(hung_up);
	must(read(hung_up, &byte, 1));
	fd_close(old);
	fresh = tcp_listen(&port);
	must(fresh == old ? 0 : -1);
	co_start(acceptor, (void *)(intptr_t)fresh);
	say("ready");
	fdin(hung_up);
}

int main(void)
{
	struct epoll_event ev;
	int port, fds[2], listener;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	hung_up = fds[0];
	listener = tcp_listen(&port);
	co_start(acceptor, (void *)(intptr_t)listener);
	co_start(restart, (void *)(intptr_t)listener);
	must(write(fds[1], "h", 1));
	for (;;)
		if (epoll_wait(ep, &ev, 1, -1) == 1 && pollset[ev.data.fd].in)
			co_resume(pollset[ev.data.fd].in);
}
