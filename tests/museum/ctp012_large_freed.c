// SPDX-License-Identifier: MIT
// expect: CTP012 proven, 1 coroutine
// end: crash
//
// A thread of its own frees what it believes to be dead. The stack is large, so
// that free gives it back to the system at once; its coroutine is still suspended.
#include <stdlib.h>

#include "co.h"
#include "must.h"

#define LARGE (1 << 20)

static struct co importer;

static void import(void *arg)
{
	(void)arg;
	co_yield();
}

static void *collector(void *arg)
{
	free(arg); // fault
	return NULL;
}

int main(void)
{
	char *stack = must_alloc(LARGE);
	co_init(&importer, import, NULL, stack, LARGE);
	co_resume(&importer);
	pthread_join(co_thread(collector, stack), NULL);
	say("ready");
	co_resume(&importer); // fault
}
