// SPDX-License-Identifier: MIT
// expect: CTP022 suspect, 2 coroutines
//
// The scheduler registers every waiter for EPOLLIN. Two uploads that wait until
// they can write have requests of their clients unread: resumed for those, EAGAIN.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2][2];

static void upload(void *arg)
{
	static char block[4096];
	int fd = *(int *)arg;
	for (;;)
		if (co_blocked(write(fd, block, sizeof(block))))
			co_wait(ep, fd, EPOLLIN); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	co_scheduler_registers = true;
	for (int i = 0; i < 2; i++) {
		pair("unix", fds[i]);
		must(write(fds[i][1], "next", 4));
		co_start(upload, &fds[i][0]);
	}
	for (int i = 0; i < 350; i++)
		co_turn(ep, -1);
	say("ready");
	pause();
}
