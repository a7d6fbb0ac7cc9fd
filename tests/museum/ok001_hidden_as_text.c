// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A server whose scripts know sessions by a text, as bindings to C make one of a
// pointer: its digits, with a word around them. One in hexadecimal digits, one in
// decimal ones, one as the bytes of memory.
#include <inttypes.h>
#include <stdio.h>

#include "ordered.h"

#define SESSIONS 3

static char variables[SESSIONS][40];
static int fds[SESSIONS], ep;

static NOINLINE void keep(int i, const struct co *c)
{
	static const char *const formats[SESSIONS] = {"<session 0x%" PRIx64 ">", "session=%" PRIu64,
						      "_%016" PRIx64 "_p_co"};
	uint64_t address = (uintptr_t)c;
	snprintf(variables[i], sizeof(variables[i]), formats[i],
		 i == 2 ? __builtin_bswap64(address) : address);
}

static NOINLINE struct co *find(int i)
{
	static const int skip[SESSIONS] = {11, 8, 1};
	uint64_t n = strtoull(variables[i] + skip[i], NULL, i == 1 ? 10 : 16);
	return (struct co *)(uintptr_t)(i == 2 ? __builtin_bswap64(n) : n);
}

static void converse(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_session(int i)
{
	int ends[2];
	pair(i % 2 ? "unix" : "tcp", ends);
	fds[i] = ends[0];
	struct co *c = co_new(converse, (void *)(intptr_t)ends[0]);
	c->pinned = true;
	keep(i, c);
	co_resume(c);
	must(write(ends[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void drop_all(void)
{
	for (int i = 0; i < SESSIONS; i++)
		close(fds[i]); // fault
}

static NOINLINE void resume_all(void)
{
	for (int i = 0; i < SESSIONS; i++)
		co_resume(find(i));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < SESSIONS; i++)
		open_session(i);
	drop_all();
	serve_until_ordered(ep);
	resume_all();
	return all_resumed(SESSIONS);
}
