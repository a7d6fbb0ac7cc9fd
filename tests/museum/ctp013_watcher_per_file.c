// SPDX-License-Identifier: MIT
// expect: CTP013 suspect, 36 coroutines
// end: exit
//
// Two loops, a thread each: one accepts files to watch and starts a watcher for
// each, registered by the scheduler on a pipe of its own; the other only ticks.
// "Unwatch" is not implemented, so no watcher ever ends.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { FILES = 36 };

static int watch_ep, tick_ep, files[2], tick, seen;

static void watcher(void *arg)
{
	char change;
	int fds[2];
	(void)arg;
	pair("pipe", fds);
	while (co_read(watch_ep, fds[0], &change, 1) == 1)
		;
}

static void ticker(void *arg)
{
	uint64_t n;
	(void)arg;
	while (co_read(tick_ep, tick, &n, sizeof(n)) > 0)
		must(write(files[1], "f", 1));
}

static void watch_server(void *arg)
{
	char byte;
	(void)arg;
	for (;;) {
		co_wait(watch_ep, files[0], EPOLLIN);
		must(read(files[0], &byte, 1));
		co_start(watcher, NULL); // fault
		seen++;
		must(write(tick, &(uint64_t){1}, 8));
	}
}

int main(void)
{
	co_scheduler_registers = true;
	watch_ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	tick_ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	tick = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	pair("pipe", files);
	co_start(ticker, NULL);
	co_start(watch_server, NULL);
	co_loop_thread(&tick_ep);
	must(write(tick, &(uint64_t){1}, 8));
	while (seen < FILES)
		co_turn(watch_ep, -1);
	return 0;
}
