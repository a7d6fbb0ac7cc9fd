// SPDX-License-Identifier: MIT
// expect: CTP003 suspect, 2 coroutines in 1 finding
// needs: libst-dev
//
// State Threads. Writers share a segment, and its mutex. One finds its record too large, and returns while it
// has the mutex: the thread ends, and the library keeps its stack. A ticker goes on.
#include <st.h>

#include "must.h"

#define WRITERS 3
#define TICK_US 10000

static st_mutex_t segment;
static int sizes[WRITERS] = {200, 10, 10}, records, ticks, ended, waiting;

static __attribute__((noinline)) void append(int size)
{
	waiting++;
	must(st_mutex_lock(segment)); // fault
	waiting--;
	must(st_usleep(TICK_US));
	if (size > 100)
		return;
	records++;
	must(st_mutex_unlock(segment));
}

static void *writer(void *arg)
{
	append(*(int *)arg);
	ended++;
	return NULL;
}

static void *ticker(void *arg)
{
	for (;; ticks++)
		must(st_usleep(TICK_US));
	return arg;
}

int main(void)
{
	must(st_init());
	segment = st_mutex_new();
	must(st_thread_create(ticker, NULL, 0, 0) ? 0 : -1);
	for (int i = 0; i < WRITERS; i++)
		must(st_thread_create(writer, &sizes[i], 0, 0) ? 0 : -1);
	while (!ended || waiting < WRITERS - 1)
		must(st_usleep(TICK_US));
	say("ready");
	for (;;)
		must(st_usleep(TICK_US));
}
