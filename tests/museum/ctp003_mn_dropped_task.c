// SPDX-License-Identifier: MIT
// expect: CTP003 suspect..likely, 1 coroutine
// end: timeout
//
// Threads share a deque of parked tasks without a lock around "is it full": here
// in the order in which it goes wrong. A first task is parked and taken back;
// then two threads find one place left, and the second task overwrites the first.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct co *deque[1]; // of other files too
static int ep, turn[2], done[2];

static void task(void *arg)
{
	(void)arg;
	deque[0] = co_self();
	co_yield(); // fault
	for (;;)
		co_yield(); // done
}

static NOINLINE void take_back(void)
{
	co_resume(deque[0]);
}

static NOINLINE void *spawner(void *arg)
{
	char what;
	(void)arg;
	must(read(turn[0], &what, 1));
	co_start(task, NULL);
	if (what == 't')
		take_back();
	must(write(done[1], "", 1));
	co_loop(ep);
}

int main(void)
{
	pthread_t threads[3];
	char byte;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	must(pipe(turn));
	must(pipe(done));
	for (int i = 0; i < 3; i++)
		threads[i] = co_thread(spawner, NULL);
	for (int i = 0; i < 3; i++) {
		must(write(turn[1], i ? "p" : "t", 1));
		must(read(done[0], &byte, 1));
	}
	say("ready");
	pthread_join(threads[0], NULL);
}
