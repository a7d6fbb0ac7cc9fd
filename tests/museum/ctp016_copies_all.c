// SPDX-License-Identifier: MIT
// expect: CTP016 suspect, 1 coroutines
//
// A coroutine copies "until there is nothing left" from a source that always
// has something: its reads never say EAGAIN, so it never yields. The time goes
// by in the kernel, in many short calls.
#include <fcntl.h>
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, orders[2], session[2];

static unsigned long cpu_ms(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (unsigned long)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static NOINLINE char next_order(void)
{
	char order = 0;
	co_read(ep, orders[0], &order, 1);
	return order;
}

static NOINLINE void copy_all(char order)
{
	static char buf[64 << 10];
	int from = (int)must(open(order == 'x' ? "/dev/zero" : "/dev/full", O_RDONLY | O_NONBLOCK));
	int to = (int)must(open("/dev/null", O_WRONLY | O_NONBLOCK));
	unsigned long end = cpu_ms() + 400; // what a client would take before it hangs up
	while (cpu_ms() < end) {
		ssize_t n = co_read(ep, from, buf, sizeof(buf));
		co_write(ep, to, buf, (size_t)n);
	}
	say("ready");
}

static void exporter(void *arg)
{
	(void)arg;
	for (;;)
		copy_all(next_order()); // fault
}

static void conn_reader(void *arg)
{
	char byte;
	(void)arg;
	co_read(ep, session[0], &byte, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", orders);
	pair("tcp", session);
	co_start(conn_reader, NULL);
	co_start(exporter, NULL);
	must(write(orders[1], "x", 1));
	co_loop(ep);
}
