// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// A client that gets no answer before its deadline closes its socket, opens
// another, which has the same number, and asks again.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];

static void client(void *arg)
{
	char answer[8];
	(void)arg;
	for (;;) {
		pair("unix", fds);
		if (read(fds[0], answer, sizeof(answer)) < 0)
			co_wait(ep, fds[0], EPOLLIN); // or the deadline
		if (read(fds[0], answer, sizeof(answer)) > 0)
			continue;
		close(fds[0]);
		close(fds[1]);
	}
}

int main(void)
{
	struct co *c = co_new(client, NULL);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 4; i++)
		co_resume(c);
	say("ready");
	co_loop(ep);
}
