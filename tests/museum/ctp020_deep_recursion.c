// SPDX-License-Identifier: MIT
// expect: CTP020 suspect, 1 coroutines
// engine: both
//
// A walker follows a tree as deep as it goes, on a stack that is just enough
// for today's: the last few hundred bytes are left.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct node {
	struct node *child;
};

static int ep, requests[2];
static struct co walker_co;

static NOINLINE size_t walk(struct node *n, const char *end)
{
	volatile char path[256];
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)(i + 1);
	if ((const char *)__builtin_frame_address(0) - end < 2048)
		return 1;
	return walk(n->child, end) + (size_t)path[3]; // fault
}

static void walker(void *arg)
{
	struct node loop = {&loop};
	char request;
	(void)arg;
	walk(&loop, walker_co.stack);
	say("ready");
	co_read(ep, requests[0], &request, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", requests);
	walker_co.pinned = true;
	co_init(&walker_co, walker, NULL, must_map(64 << 10), 64 << 10);
	co_resume(&walker_co);
	co_loop(ep);
}
