// SPDX-License-Identifier: MIT
// expect: CTP018 suspect, 1 coroutines
//
// One of two loops: a coroutine starts a thread for a computation and joins it
// at once, so that nothing is gained, and its loop sleeps.
#include <sys/epoll.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int eps[2], jobs[2], conns[2][2];

static void *computation(void *arg)
{
	(void)arg;
	nap_ms(400);
	return NULL;
}

static NOINLINE void compute_elsewhere(void)
{
	pthread_t t = co_thread(computation, NULL);
	pthread_join(t, NULL); // fault
}

static void worker(void *arg)
{
	char job;
	(void)arg;
	co_read(eps[0], jobs[0], &job, 1);
	compute_elsewhere();
	say("ready");
	co_read(eps[0], jobs[0], &job, 1);
}

static void conn_reader(void *arg)
{
	int i = *(int *)arg;
	uint64_t messages;
	co_read(eps[i], conns[i][0], &messages, sizeof(messages));
}

static void *loop(void *arg)
{
	co_turn(eps[*(int *)arg], 1); // the loop is up, and finds nothing yet
	co_start(conn_reader, arg);
	if (*(int *)arg == 0)
		co_start(worker, NULL);
	co_loop(eps[*(int *)arg]);
}

int main(void)
{
	static int which[2] = {0, 1};
	pthread_t threads[2];
	pair("pipe", jobs);
	for (int i = 0; i < 2; i++) {
		eps[i] = (int)must(epoll_create1(EPOLL_CLOEXEC));
		pair("eventfd", conns[i]);
		threads[i] = co_thread(loop, &which[i]);
	}
	must(write(jobs[1], "j", 1));
	pthread_join(threads[0], NULL);
}
