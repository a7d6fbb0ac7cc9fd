// SPDX-License-Identifier: MIT
// expect: CTP020 suspect, 2 coroutines
//
// The stacks' lowest page is a guard, and part of what the library calls the
// stack: of the rest, little is left. Two workers, in two threads.
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define BYTES (32 << 10)
#define GUARD 4096

struct node {
	struct node *child;
};

static int ep, requests[2][2], ready_pipe[2];
static struct co workers[2];

static NOINLINE size_t walk(struct node *n, const char *end)
{
	volatile char path[256];
	for (size_t i = 0; i < sizeof(path); i++)
		path[i] = (char)(i + 1);
	if ((const char *)__builtin_frame_address(0) - end < GUARD + 1500)
		return 1;
	return walk(n->child, end) + (size_t)path[3]; // fault
}

static void parser(void *arg)
{
	struct node loop = {&loop};
	int i = *(int *)arg;
	char request;
	walk(&loop, workers[i].stack);
	must(write(ready_pipe[1], "r", 1));
	co_read(ep, requests[i][0], &request, 1);
}

static void *starter(void *arg)
{
	int i = *(int *)arg;
	char *stack = must_map(BYTES);
	must(mprotect(stack, GUARD, PROT_NONE));
	workers[i].pinned = true;
	co_init(&workers[i], parser, arg, stack, BYTES);
	co_resume(&workers[i]);
	co_loop(ep);
}

int main(void)
{
	static int which[2] = {0, 1};
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(ready_pipe));
	for (int i = 0; i < 2; i++) {
		pair("pipe", requests[i]);
		co_thread(starter, &which[i]);
		must(read(ready_pipe[0], &byte, 1));
	}
	say("ready");
	for (;;)
		pause();
}
