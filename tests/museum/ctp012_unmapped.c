// SPDX-License-Identifier: MIT
// expect: CTP012 proven, 1 coroutine
// engine: both
// patched: slot slot_back struct saved
// end: crash
//
// The pool shrinks and unmaps the stacks of those that look idle. One of them
// waits for a timer, which resumes it: the program dies at once.
#include <sys/mman.h>

#include "co.h"
#include "must.h"

static void session(void *arg)
{
	(void)arg;
	for (;;)
		co_yield();
}

static void pool_shrinks(struct co *c)
{
	munmap(c->stack, c->bytes); // fault
}

static void on_timer(struct co *c)
{
	co_resume(c); // fault
}

int main(void)
{
	struct co *c = co_new(session, NULL);
	co_resume(c);
	pool_shrinks(c);
	say("ready");
	on_timer(c);
}
