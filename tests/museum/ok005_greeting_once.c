// SPDX-License-Identifier: MIT
// expect: CTP005 none..suspect, 1 coroutine
// engine: both
//
// A coroutine waits at one place for whatever comes. A descriptor that tells it
// once that all is configured is registered one-shot, has fired, and nobody
// wants more of it; its commands come by a connection that stays registered.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, configured, commands;

static void service(void *arg)
{
	char command[64];
	uint64_t n;
	(void)arg;
	co_watch(ep, configured, EPOLLIN | EPOLLONESHOT, co_self());
	co_watch(ep, commands, EPOLLIN, co_self());
	for (;;) {
		co_yield();
		if (read(configured, &n, sizeof(n)) > 0)
			continue;
		if (read(commands, command, sizeof(command)) == 0)
			return;
	}
}

int main(void)
{
	int fds[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	configured = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	pair("tcp", fds);
	commands = fds[0];
	co_start(service, NULL);
	must(write(configured, &(uint64_t){1}, 8));
	must(co_turn(ep, -1) ? 0 : -1);
	say("ready");
	co_loop(ep);
}
