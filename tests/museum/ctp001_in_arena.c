// SPDX-License-Identifier: MIT
// expect: CTP001 likely, 1 coroutine
//
// A request has one block of memory, touched beforehand: its stack grows down
// from the top, its arena up from the bottom, and all of it was given to
// makecontext. What it waits for itself is in order, but its arena alone knows
// of the reader whose descriptor the reaper closes: it may yet resume that one.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define BLOCK (256 << 10)
#define PLACE 1500 // in the arena: on its third page

static struct co owner;
static int ep, conn, orders;

static void reader(void *arg)
{
	char buf[64];
	(void)arg;
	while (co_read(ep, conn, buf, sizeof(buf)) > 0) // fault
		;
}

static void request(void *arg)
{
	char order;
	(void)arg;
	while (co_read(ep, orders, &order, 1) > 0)
		co_resume(((struct co **)owner.stack)[PLACE]);
}

static NOINLINE void begin_request(void)
{
	char *block = must_map(BLOCK);
	for (size_t i = 0; i < BLOCK; i += 4096)
		((volatile char *)block)[i] = 0;
	co_init(&owner, request, NULL, block, BLOCK);
	owner.pinned = true;
	co_resume(&owner);
}

static NOINLINE void keep_reader(void)
{
	struct co **place = (struct co **)owner.stack + PLACE;
	*place = co_new(reader, NULL);
	co_resume(*place);
}

static NOINLINE void reap(void)
{
	close(conn); // fault
}

int main(void)
{
	int fds[2], more[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("tcp", fds);
	pair("tcp", more);
	conn = fds[0];
	orders = more[0];
	begin_request();
	keep_reader();
	reap();
	say("ready");
	co_loop(ep);
}
