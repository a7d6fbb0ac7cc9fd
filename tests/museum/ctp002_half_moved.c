// SPDX-License-Identifier: MIT
// expect: CTP002 proven, 2 coroutines
// patched: slot slot_back struct saved
//
// A balancer moves connections from a busy loop to an idle one: it takes them
// out of the first set, and would add them to the second. But the idle loop
// has just gone down, and the error path forgets to put them back.
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int busy_loop, idle_loop, conns[3], rebalance;

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(busy_loop, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE bool move(int fd)
{
	struct epoll_event ev = {.events = EPOLLIN};
	must(epoll_ctl(busy_loop, EPOLL_CTL_DEL, fd, NULL)); // fault
	return epoll_ctl(idle_loop, EPOLL_CTL_ADD, fd, &ev) == 0 || errno != EBADF;
}

static void balancer(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(busy_loop, rebalance, &n, sizeof(n)));
	for (int i = 0; i < 2; i++)
		move(conns[i]);
	say("ready");
}

int main(void)
{
	uint64_t one = 1;
	busy_loop = (int)must(epoll_create1(EPOLL_CLOEXEC));
	idle_loop = (int)must(epoll_create1(EPOLL_CLOEXEC));
	rebalance = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		int fds[2];
		pair("unix", fds);
		conns[i] = fds[0];
		co_start(conn_reader, &conns[i]);
	}
	co_start(balancer, NULL);
	close(idle_loop);
	must(write(rebalance, &one, sizeof(one)));
	co_loop(busy_loop);
}
