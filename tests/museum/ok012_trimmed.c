// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// end: exit
//
// A server under memory pressure unmaps the lower, unused half of its suspended
// coroutines' stacks. They go on on the upper half.
#include <sys/mman.h>

#include "co.h"
#include "must.h"

static int served;

static void session(void *arg)
{
	(void)arg;
	co_yield();
	served++;
}

int main(void)
{
	for (int i = 0; i < 3; i++) {
		struct co *c = co_new(session, NULL);
		c->pinned = true;
		co_resume(c);
		must(munmap(c->stack, c->bytes / 2));
		co_resume(c);
	}
	say(served == 3 ? "done" : "wrong");
}
