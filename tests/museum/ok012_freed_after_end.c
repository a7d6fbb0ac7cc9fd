// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// end: exit
//
// Each stack is freed by the loop that saw its coroutine end, and malloc hands
// the same memory out for the next one.
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
	co_kind = CO_HEAP;
	for (int i = 0; i < 50; i++) {
		struct co *c = co_new(session, NULL);
		co_resume(c);
		co_resume(c);
	}
	say(served == 50 ? "done" : "wrong");
}
