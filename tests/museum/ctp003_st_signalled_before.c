// SPDX-License-Identifier: MIT
// expect: CTP003 likely, 1 coroutine
// end: timeout
// needs: libst-dev
//
// State Threads. A loader signals that its data is there, and ends. The consumer
// looked before, lets others run to be fair, and only then waits: the signal found
// nobody. main joins the consumer, and the program sleeps for good. The library
// keeps the loader's stack for the next thread.
#include <st.h>

#include "must.h"

static st_cond_t loaded;
static int is_loaded, consumed;

static void *consumer(void *arg)
{
	while (!is_loaded) {
		must(st_usleep(0));
		must(st_cond_wait(loaded)); // fault
	}
	consumed++;
	return arg;
}

static void *loader(void *arg)
{
	is_loaded = 1;
	must(st_cond_signal(loaded));
	return arg;
}

int main(void)
{
	must(st_init());
	loaded = st_cond_new();
	st_thread_t waits = st_thread_create(consumer, NULL, 1, 0);
	must(st_thread_create(loader, NULL, 0, 0) ? 0 : -1);
	must(st_usleep(0));
	must(st_usleep(0));
	must(!is_loaded || consumed ? -1 : 0);
	say("ready");
	return st_thread_join(waits, NULL);
}
