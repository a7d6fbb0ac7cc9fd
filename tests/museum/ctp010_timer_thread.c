// SPDX-License-Identifier: MIT
// expect: CTP010 proven, 1 coroutine
// patched: slot slot_back struct saved from
//
// The loop resumes a request as its answer comes; the timer thread does not ask
// whether it is still waiting, and resumes it as timed out: both run it.
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co request;
static union co_context loop_home, timer_home;
static int answered[2], forever[2];
static bool timed_out;

// Deep: what is saved there stays as it was while the request goes on above.
static NOINLINE void wait_answer(struct co *c)
{
	volatile char line[16 << 10];
	line[0] = 0;
	c->engine->swap(c, &c->own, c->back);
	line[1] = line[0];
}

static void resume(struct co *c, union co_context *home)
{
	c->back = home;
	c->engine->swap(c, home, &c->own); // fault
}

static NOINLINE void parse_answer(void)
{
	char byte;
	must(write(answered[1], "a", 1));
	must(read(forever[0], &byte, 1)); // a long answer
}

static void serve(void *arg)
{
	for (;;) {
		wait_answer(arg);
		if (!timed_out)
			parse_answer();
	}
}

static void *timer(void *arg)
{
	char byte;
	must(read(answered[0], &byte, 1));
	timed_out = true;
	resume(arg, &timer_home);
	say("ready");
	must(read(answered[0], &byte, 1));
	return NULL;
}

int main(void)
{
	must(pipe(answered));
	must(pipe(forever));
	co_init(&request, serve, &request, must_map(64 << 10), 64 << 10);
	resume(&request, &loop_home);
	co_thread(timer, &request);
	resume(&request, &loop_home);
	return 1;
}
