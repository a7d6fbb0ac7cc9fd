// SPDX-License-Identifier: MIT
// expect: clean
//
// A proxy waits for either of two sockets through a small set of its own, which
// it closes when one of them has spoken; then it waits in the loop's set.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, left[2], right[2];

static void proxy(void *arg)
{
	char buf[64];
	struct epoll_event ev = {.events = EPOLLIN | EPOLLET};
	int own = (int)must(epoll_create1(EPOLL_CLOEXEC));
	(void)arg;
	ev.data.fd = left[0];
	must(epoll_ctl(own, EPOLL_CTL_ADD, left[0], &ev));
	ev.data.fd = right[0];
	must(epoll_ctl(own, EPOLL_CTL_ADD, right[0], &ev));
	co_wait(ep, own, EPOLLIN);
	must(epoll_wait(own, &ev, 1, 0) == 1 ? 0 : -1);
	close(own);
	must(read(ev.data.fd, buf, sizeof(buf)));
	say("ready");
	must(co_read(ep, left[0], buf, sizeof(buf)));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", left);
	pair("tcp", right);
	co_start(proxy, NULL);
	must(write(right[1], "hello", 5));
	co_loop(ep);
}
