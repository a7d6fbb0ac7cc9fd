// SPDX-License-Identifier: MIT
// expect: clean
// patched: slot struct
//
// Stacks of 8 and 16 KiB of which about half is used: small, but enough. They
// were populated when they were mapped.
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, requests[2][2];
static struct co all[2];

struct node {
	struct node *child;
};

static NOINLINE size_t parse(struct node *n, const char *top, size_t use)
{
	volatile char token[64];
	for (size_t i = 0; i < sizeof(token); i++)
		token[i] = (char)(i + 1);
	if ((size_t)(top - (const char *)__builtin_frame_address(0)) > use)
		return 1;
	return parse(n->child, top, use) + (size_t)token[1];
}

static void conn_reader(void *arg)
{
	struct node loop = {&loop};
	int i = *(int *)arg;
	char byte;
	parse(&loop, all[i].stack + all[i].bytes, all[i].bytes / 2);
	co_read(ep, requests[i][0], &byte, 1);
}

int main(void)
{
	static int which[2] = {0, 1};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 2; i++) {
		size_t bytes = (size_t)(8 << 10) << i;
		char *stack = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
		must(stack == MAP_FAILED ? -1 : 0);
		pair("pipe", requests[i]);
		all[i].pinned = true;
		co_init(&all[i], conn_reader, &which[i], stack, bytes);
		co_resume(&all[i]);
	}
	say("ready");
	co_loop(ep);
}
