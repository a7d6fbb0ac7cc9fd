// SPDX-License-Identifier: MIT
// expect: clean
// end: timeout
// needs: libst-dev
//
// State Threads. All workers have ended; the library keeps the stacks of those whom
// nobody joins, and one that ended waits to be joined. main has done its work, and
// sleeps until it is killed.
#include <st.h>

#include "must.h"

#define WORKERS 4

static int done;

static void *work(void *arg)
{
	must(st_usleep(0));
	done++;
	return arg;
}

int main(void)
{
	must(st_init());
	for (int i = 0; i < WORKERS; i++)
		must(st_thread_create(work, NULL, i == 0, 0) ? 0 : -1);
	while (done < WORKERS)
		must(st_usleep(0));
	must(st_usleep(0));
	say("ready");
	return st_usleep(ST_UTIME_NO_TIMEOUT);
}
