// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 5 coroutines
//
// A reload makes a new table of readers and forgets the old one, which still has five. Nothing
// leads to that table: the pointers near it are those of the blocks beside it. But it may be kept
// in a form that is not searched for, which looks the same.
#include "lost.h"

#define READERS 5

struct table {
	struct co *readers[READERS];
};

struct setting {
	char text[120];
};

static struct setting *before, *behind;
static struct table *current;
static int sockets[READERS];

static NOINLINE void open_one(struct table *t, int i)
{
	int fds[2];
	pair("unix", fds);
	sockets[i] = fds[0];
	t->readers[i] = co_new(lost_reader, (void *)(intptr_t)fds[0]);
	co_resume(t->readers[i]);
	must(write(fds[1], "data", 4));
	co_turn(ep, -1);
}

static NOINLINE void load(void)
{
	before = must_alloc(sizeof(*before));
	struct table *t = must_alloc(sizeof(*t));
	behind = must_alloc(sizeof(*behind));
	for (int i = 0; i < READERS; i++)
		open_one(t, i);
}

static NOINLINE void reload(void)
{
	current = must_alloc(sizeof(*current));
	for (int i = 0; i < READERS; i++)
		close(sockets[i]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	load();
	reload();
	serve_on();
}
