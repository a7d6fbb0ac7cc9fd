// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// Everything that a server knows has a key of 64 bits: its address, shifted left
// by four, and what kind of thing it is. Readers stand in one table with files
// and timers.
#include "ordered.h"

#define READERS 3

enum kind { KIND_FILE = 1, KIND_TIMER = 5, KIND_READER = 11 };

static uint64_t keys[2 * READERS];
static int fds[READERS], ep;

static NOINLINE uint64_t key_of(const void *thing, enum kind kind)
{
	return (uint64_t)(uintptr_t)thing << 4 | kind;
}

static NOINLINE void *thing_of(uint64_t key)
{
	return (void *)(uintptr_t)(key >> 4);
}

static void await(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void open_reader(int i)
{
	int ends[2];
	pair(i % 2 ? "unix" : "tcp", ends);
	fds[i] = ends[0];
	struct co *c = co_new(await, (void *)(intptr_t)ends[0]);
	c->pinned = true;
	keys[2 * i] = key_of(&fds[i], i ? KIND_FILE : KIND_TIMER);
	keys[2 * i + 1] = key_of(c, KIND_READER);
	co_resume(c);
	must(write(ends[1], "hello", 5));
	co_turn(ep, -1);
}

static NOINLINE void drop_all(void)
{
	for (int i = 0; i < READERS; i++)
		close(fds[i]); // fault
}

static NOINLINE void resume_all(void)
{
	for (int i = 0; i < 2 * READERS; i++)
		if ((keys[i] & 15) == KIND_READER)
			co_resume(thing_of(keys[i]));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < READERS; i++)
		open_reader(i);
	drop_all();
	serve_until_ordered(ep);
	resume_all();
	return all_resumed(READERS);
}
