// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// A database's arena: control blocks and stacks are carved from one mapping, and
// what is kept are offsets into it, in 16-byte units. The arena's own address is
// the only one there is.
#include "ordered.h"

#define CURSORS 3
#define ARENA (1u << 20)
#define STACK (64u << 10)

static struct arena {
	char *base;
	uint32_t used; // units
	uint32_t takes;
} arena;

static struct cursor {
	uint32_t at; // units
	int fd;
} cursors[CURSORS];
static int ep;

static NOINLINE uint32_t take(size_t bytes)
{
	uint32_t at = arena.used;
	arena.used += (uint32_t)((bytes + 15) / 16);
	arena.takes++;
	must(arena.used <= ARENA / 16 ? 0 : -1);
	return at;
}

static NOINLINE void *at(uint32_t units)
{
	return arena.base + (size_t)units * 16;
}

static void cursor_wait(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char row[128];
	while (co_read(ep, fd, row, sizeof(row)) > 0)
		;
	ended++;
}

static NOINLINE void open_cursor(struct cursor *cursor)
{
	int fds[2];
	pair("pipe", fds);
	cursor->fd = fds[0];
	cursor->at = take(sizeof(struct co));
	struct co *c = at(cursor->at);
	c->pinned = true;
	co_init(c, cursor_wait, (void *)(intptr_t)cursor->fd, at(take(STACK)), STACK);
	co_resume(c);
	must(write(fds[1], "row", 3));
	co_turn(ep, -1);
}

static NOINLINE void close_cursors(void)
{
	for (int i = 0; i < CURSORS; i++)
		close(cursors[i].fd); // fault
}

static NOINLINE void vacuum(void)
{
	for (int i = 0; i < CURSORS; i++)
		co_resume(at(cursors[i].at));
}

static NOINLINE void make_arena(void)
{
	arena.base = must_map(ARENA);
	take(64); // its header
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	make_arena();
	for (int i = 0; i < CURSORS; i++)
		open_cursor(&cursors[i]);
	close_cursors();
	serve_until_ordered(ep);
	vacuum();
	return all_resumed(CURSORS);
}
