// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A plugin's coroutine calls pthread_exit: its thread ends in it. The stack is
// made into the next coroutine, which another thread runs.
#include <unistd.h>

#include "co.h"
#include "must.h"

static struct co plugin;
static char *stack;

static void ends_thread(void *arg)
{
	(void)arg;
	co_yield();
	pthread_exit(NULL);
}

static void well_behaved(void *arg)
{
	(void)arg;
	co_yield();
}

static void *host(void *arg)
{
	(void)arg;
	co_resume(&plugin);
	co_resume(&plugin);
	return NULL;
}

int main(void)
{
	stack = must_map(64 << 10);
	plugin.pinned = true;
	co_init(&plugin, ends_thread, NULL, stack, 64 << 10);
	pthread_join(co_thread(host, NULL), NULL);
	co_init(&plugin, well_behaved, NULL, stack, 64 << 10);
	pthread_join(co_thread(host, NULL), NULL);
	say("done");
}
