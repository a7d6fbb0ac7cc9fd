// SPDX-License-Identifier: MIT
// expect: clean
// needs: libst-dev
//
// State Threads. One writer is done with the segment, and its thread has ended; another has the mutex, and
// its disk is slow. Two wait for it, and two for a condition that one which has ended signalled before.
#include <st.h>

#include "must.h"

#define WRITERS 4
#define TICK_US 10000
#define SLOW_US 3600000000ULL

static st_mutex_t segment;
static st_cond_t flushed;
static int ended, waiting, slow;

static void *writer(void *arg)
{
	waiting++;
	must(st_mutex_lock(segment));
	waiting--;
	slow += arg != NULL;
	must(st_usleep(arg ? SLOW_US : TICK_US));
	must(st_mutex_unlock(segment));
	ended++;
	return NULL;
}

static void *follower(void *arg)
{
	waiting++;
	must(st_cond_wait(flushed));
	waiting--;
	ended++;
	return arg;
}

int main(void)
{
	must(st_init());
	segment = st_mutex_new();
	flushed = st_cond_new();
	must(st_thread_create(writer, NULL, 0, 0) ? 0 : -1);
	must(st_thread_create(follower, NULL, 0, 0) ? 0 : -1);
	while (ended < 1)
		must(st_usleep(TICK_US));
	must(st_cond_signal(flushed));
	while (ended < 2)
		must(st_usleep(TICK_US));
	must(st_thread_create(writer, &slow, 0, 0) ? 0 : -1);
	while (!slow)
		must(st_usleep(TICK_US));
	for (int i = 0; i < 2; i++) {
		must(st_thread_create(writer, NULL, 0, 0) ? 0 : -1);
		must(st_thread_create(follower, NULL, 0, 0) ? 0 : -1);
	}
	while (waiting < WRITERS)
		must(st_usleep(TICK_US));
	say("ready");
	for (;;)
		must(st_usleep(TICK_US));
}
