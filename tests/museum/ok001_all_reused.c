// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
//
// One context, one stack and always the same numbers, a hundred times: each
// reader ends before the next one takes its place. The last one waits.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define STACK (64 << 10)

static struct co slot;
static int ep, fds[2];

static void conn_reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, fds[0], buf, sizeof(buf)) > 0)
		;
}

static void serve(char *stack, const char *kind)
{
	pair(kind, fds);
	co_init(&slot, conn_reader, NULL, stack, STACK);
	co_resume(&slot);
}

int main(void)
{
	char *stack = must_map(STACK);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	slot.pinned = true;
	for (int i = 0; i < 100; i++) {
		serve(stack, i % 2 ? "pipe" : "unix");
		close(fds[1]);
		while (!slot.done)
			co_turn(ep, -1);
		close(fds[0]);
	}
	serve(stack, "tcp");
	say("ready");
	co_loop(ep);
}
