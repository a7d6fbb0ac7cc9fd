// SPDX-License-Identifier: MIT
// expect: clean
//
// A library that paints its stacks and puts a canary at their end, to measure
// their use itself: all pages are touched, none of it by a call.
#include <stdint.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define BYTES (64 << 10)

static int ep, requests[3][2];
static struct co all[3];

static void conn_reader(void *arg)
{
	char byte;
	co_read(ep, *(int *)arg, &byte, 1);
}

static char *painted(uint64_t paint)
{
	uint64_t *stack = must_map(BYTES);
	for (size_t i = 0; i < BYTES / sizeof(*stack); i++)
		stack[i] = paint;
	stack[0] = 0x57ac6e9d; // the canary
	stack[1] = (uintptr_t)stack;
	return (char *)stack;
}

int main(void)
{
	static const uint64_t paints[3] = {0x5a5a5a5a5a5a5a5a, 0xdeadbeefdeadbeef, 0};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < 3; i++) {
		pair("pipe", requests[i]);
		all[i].pinned = true;
		co_init(&all[i], conn_reader, &requests[i][0], painted(paints[i]), BYTES);
		co_resume(&all[i]);
	}
	say("ready");
	co_loop(ep);
}
