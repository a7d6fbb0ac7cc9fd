// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 1 coroutines
//
// A reader's address lies in a record of the heap as it is. Where the record lies is known by a
// number that is the address multiplied, which no search sees through: it may be a leak, and it
// is none.
#include "lost.h"

#define READERS 6
#define FACTOR 0xd1342543de82ef95

struct record {
	long number;
	char name[32];
	void *of;
};

static volatile uint64_t handle;

static NOINLINE void keep(void *co)
{
	struct record *r = must_alloc(sizeof(*r));
	r->of = co;
	handle = (uint64_t)(uintptr_t)r * FACTOR;
}

static void kept(void *arg)
{
	char buf[64];
	keep(co_self());
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
}

static NOINLINE void drop(void)
{
	int fds[2];
	pair("unix", fds);
	co_start(kept, (void *)(intptr_t)fds[0]);
	must(write(fds[1], "data", 4));
	co_turn(ep, -1);
	close(fds[0]); // fault
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	for (int i = 0; i < READERS; i++)
		open_reader("unix");
	drop();
	serve_on();
}
