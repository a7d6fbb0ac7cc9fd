// SPDX-License-Identifier: MIT
// expect: CTP024 likely, 1 coroutine
//
// A worker thread closes the socket of a request that was refused; the request's
// coroutine wants to wait for it and registers the number.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, fds[2];

static void request(void *arg)
{
	struct epoll_event ev = {.events = EPOLLIN};
	(void)arg;
	co_yield();
	epoll_ctl(ep, EPOLL_CTL_ADD, fds[0], &ev); // fault
	co_yield();
}

static void *refuser(void *arg)
{
	close(*(int *)arg); // fault
	return NULL;
}

int main(void)
{
	struct co *c = co_new(request, NULL);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("unix", fds);
	co_resume(c);
	pthread_join(co_thread(refuser, &fds[0]), NULL);
	co_resume(c);
	say("ready");
	co_loop(ep);
}
