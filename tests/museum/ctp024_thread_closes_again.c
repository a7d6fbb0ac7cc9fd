// SPDX-License-Identifier: MIT
// expect: CTP024 likely, 1 coroutine
//
// A request's coroutine closes its socket as it is through. The thread that had
// been given the number to watch for a timeout closes it as well.
#include <unistd.h>

#include "co.h"
#include "must.h"

static int fds[2];

static void request(void *arg)
{
	(void)arg;
	co_yield();
	close(fds[0]); // fault
	co_yield();
}

static void *watchdog(void *arg)
{
	close(*(int *)arg); // fault
	return NULL;
}

int main(void)
{
	struct co *c = co_new(request, NULL);
	pair("unix", fds);
	co_resume(c);
	co_resume(c);
	pthread_join(co_thread(watchdog, &fds[0]), NULL);
	say("ready");
	pause();
}
