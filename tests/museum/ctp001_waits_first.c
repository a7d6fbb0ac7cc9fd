// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 3 coroutines
// engine: both
// patched: slot slot_back struct saved
//
// A library whose read waits first and then reads: nothing has said EAGAIN. Its
// table of connections knows every reader; the janitor closes the descriptors and
// resumes none, and the program is at rest.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { CONNS = 3 };

static struct conn {
	int fd, peer;
	struct co *reader;
} conns[CONNS];
static int ep;

static ssize_t wait_and_read(int fd, void *buf, size_t n)
{
	co_wait(ep, fd, EPOLLIN); // fault
	return must(read(fd, buf, n));
}

static void reader(void *arg)
{
	struct conn *c = arg;
	char request[8];
	c->reader = co_self();
	while (wait_and_read(c->fd, request, sizeof(request)) > 0)
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		int fds[2];
		pair("unix", fds);
		conns[i] = (struct conn){.fd = fds[0], .peer = fds[1]};
		co_start(reader, &conns[i]);
	}
	must(write(conns[0].peer, "hello", 5)); // one of them has read before
	co_turn(ep, -1);
	for (int i = 0; i < CONNS; i++)
		close(conns[i].fd);
	say("ready");
	co_loop(ep);
}
