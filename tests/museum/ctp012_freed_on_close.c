// SPDX-License-Identifier: MIT
// expect: CTP012 likely, 1 coroutine
// engine: both
// patched: slot slot_back struct saved
//
// A connection is closed, and its coroutine's stack freed, while the coroutine
// is still in the run queue. The allocator keeps the memory as it was, so the
// loop gets away with it.
#include <stdlib.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co *run_queue[4];
static int queued;

static void conn_writer(void *arg)
{
	(void)arg;
	for (;;)
		co_yield();
}

static void conn_close(struct co *c)
{
	free(c->stack); // fault
}

static void run(void)
{
	for (int i = 0; i < queued; i++)
		co_resume(run_queue[i]); // fault
}

int main(void)
{
	co_kind = CO_HEAP;
	for (int i = 0; i < 4; i++)
		co_resume(run_queue[queued++] = co_new(conn_writer, NULL));
	conn_close(run_queue[2]);
	run();
	say("ready");
	pause();
}
