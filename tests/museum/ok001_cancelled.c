// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// Cancellation by destruction: the request's descriptor is closed, and its
// coroutine, suspended in the middle, is thrown away with its stack.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, backends[4];

static void request(void *arg)
{
	char answer[64];
	while (co_read(ep, *(int *)arg, answer, sizeof(answer)) > 0)
		;
}

static void cancelled(int i, enum co_stack kind)
{
	int fds[2];
	co_kind = kind;
	pair("tcp", fds);
	backends[i] = fds[0];
	struct co *c = co_new(request, &backends[i]);
	co_resume(c);
	close(backends[i]);
	co_free(c);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	cancelled(0, CO_MMAP);
	cancelled(1, CO_HEAP);
	cancelled(2, CO_ONE);
	cancelled(3, CO_HEAP);
	say("ready");
	co_loop(ep);
}
