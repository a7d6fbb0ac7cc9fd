// SPDX-License-Identifier: MIT
// expect: CTP002 proven, 1 coroutine
// engine: both
//
// To give a tenant's bandwidth to others, the shaper takes its connection out
// of the epoll set, and means to put it back. It never does, and nobody else
// knew the coroutine.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, tenants[3], shape;

static void tenant(void *arg)
{
	char buf[64];
	while (co_read(ep, *(int *)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE void pause_tenant(int i)
{
	must(epoll_ctl(ep, EPOLL_CTL_DEL, tenants[i], NULL)); // fault
}

static void shaper(void *arg)
{
	uint64_t n;
	(void)arg;
	must(co_read(ep, shape, &n, sizeof(n)));
	pause_tenant(1);
	say("ready");
}

static void on_accept(int i)
{
	int fds[2];
	pair("tcp", fds);
	tenants[i] = fds[0];
	co_start(tenant, &tenants[i]);
}

int main(void)
{
	uint64_t one = 1;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	shape = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_start(shaper, NULL);
	for (int i = 0; i < 3; i++)
		on_accept(i);
	must(write(shape, &one, sizeof(one)));
	co_loop(ep);
}
