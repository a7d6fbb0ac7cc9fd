// SPDX-License-Identifier: MIT
// expect: CTP001 proven, 3 coroutines
// engine: both
//
// A reader gives back the pages of its stack that it does not need while it
// waits: all that lie below where it stands. It lives on, and when an idle
// timeout closes its connection, it is lost as any other.
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { CONNS = 3, PAGE = 4096, NEEDED = 2 * PAGE };

static int ep, conns[CONNS][2];

static void trim(void)
{
	char *stack = co_self()->stack;
	uintptr_t here = (uintptr_t)__builtin_frame_address(0) & ~(uintptr_t)(PAGE - 1);
	must(madvise(stack, here - NEEDED - (uintptr_t)stack, MADV_DONTNEED));
}

static void reader(void *arg)
{
	int fd = *(int *)arg;
	char request[64];
	trim();
	while (must(co_read(ep, fd, request, sizeof(request))) > 0) // fault
		;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < CONNS; i++) {
		pair("tcp", conns[i]);
		co_start(reader, conns[i]);
	}
	for (int i = 0; i < CONNS; i++)
		close(conns[i][0]);
	say("ready");
	co_loop(ep);
}
