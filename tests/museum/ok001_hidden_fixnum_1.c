// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 3 coroutines
// order: SIGUSR1
//
// An interpreter in the manner of OCaml: whatever is not one of its own blocks
// is an integer, shifted left by one with the lowest bit set. A coroutine of the
// library below is such an integer, in a field of the fiber's own record.
#include "ordered.h"

#define FIBERS 3

typedef uintptr_t value;
#define VAL_INT(n) ((value)(n) << 1 | 1)
#define INT_VAL(v) ((v) >> 1)

enum { FIELD_NAME, FIELD_CO, FIELD_NEXT, FIELDS };
#define HEADER(fields, tag) ((value)(fields) << 10 | (tag))

static value minor_heap[256], *young = minor_heap;
static value fibers; // a list of records
static int ep;

static NOINLINE value *block(unsigned fields)
{
	value *b = young;
	young += fields + 1;
	*b = HEADER(fields, 0);
	return b + 1;
}

static value *record_of(value v)
{
	return (value *)v;
}

static NOINLINE void remember(unsigned name, struct co *c)
{
	value *r = block(FIELDS);
	r[FIELD_NAME] = VAL_INT(name);
	r[FIELD_CO] = VAL_INT((uintptr_t)c);
	r[FIELD_NEXT] = fibers;
	fibers = (value)r;
}

static void fiber(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE int spawn(void)
{
	int fds[2];
	pair("unix", fds);
	struct co *c = co_new(fiber, (void *)(intptr_t)fds[0]);
	remember((unsigned)fds[0], c);
	co_resume(c);
	must(write(fds[1], "(input)", 7));
	co_turn(ep, -1);
	return fds[0];
}

// The collector finalises the channels; what waits for them is looked at when
// the fibers' list is walked next.
static NOINLINE void finalise_channels(void)
{
	for (value v = fibers; v != VAL_INT(0); v = record_of(v)[FIELD_NEXT])
		close((int)INT_VAL(record_of(v)[FIELD_NAME])); // fault
}

static NOINLINE void walk_fibers(void)
{
	for (value v = fibers; v != VAL_INT(0); v = record_of(v)[FIELD_NEXT]) {
		value c = record_of(v)[FIELD_CO];
		co_resume((struct co *)INT_VAL(c));
	}
}

int main(void)
{
	fibers = VAL_INT(0);
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < FIBERS; i++)
		spawn();
	finalise_channels();
	serve_until_ordered(ep);
	walk_fibers();
	return all_resumed(FIBERS);
}
