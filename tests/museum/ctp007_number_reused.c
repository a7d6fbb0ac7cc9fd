// SPDX-License-Identifier: MIT
// expect: CTP007 suspect, 1 coroutines
//
// Two workers share one epoll set. A connection is handed to a recorder by dup
// and closed without EPOLL_CTL_DEL; the next connection gets its number and is
// registered too. The set now holds two rows of that number, of which
// EPOLL_CTL_DEL finds one, and the old one bears the data of the first reader.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, first, second, recorder, handover;

static void conn_reader(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static void recorded_reader(void *arg)
{
	uint64_t n;
	struct epoll_event ev = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = co_self()};
	must(epoll_ctl(ep, EPOLL_CTL_ADD, *(int *)arg, &ev));
	must(co_read(ep, handover, &n, sizeof(n)));
	recorder = (int)must(dup(first));
	close(first); // fault
	for (;;)
		co_yield();
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	handover = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	pair("unix", fds);
	first = fds[0];
	co_start(recorded_reader, &first);
	must(write(handover, &(uint64_t){1}, 8));
	co_turn(ep, -1);
	pair("unix", fds);
	second = fds[0];
	must(second == first ? 0 : -1);
	co_start(conn_reader, &second);
	co_loop_thread(&ep);
	say("ready");
	co_loop(ep);
}
