// SPDX-License-Identifier: MIT
// expect: clean
//
// Two workers on one epoll set. One computes for long; the other is there for
// all who wait, so nobody is starved.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, jobs[2], feed[2];
static volatile unsigned long sum;

static unsigned long cpu_ms(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (unsigned long)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static NOINLINE void compress_block(void)
{
	for (unsigned long end = cpu_ms() + 400; cpu_ms() < end;)
		for (unsigned i = 0; i < 100000; i++)
			sum = sum * 31 + i;
}

static void compressor(void *arg)
{
	char job;
	(void)arg;
	co_read(ep, jobs[0], &job, 1);
	compress_block();
	say("ready");
	co_read(ep, jobs[0], &job, 1);
}

static void subscriber(void *arg)
{
	char message;
	(void)arg;
	for (;;)
		co_read(ep, feed[0], &message, 1);
}

int main(void)
{
	pthread_t workers[2];
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", jobs);
	pair("unix", feed);
	co_start(subscriber, NULL);
	co_start(compressor, NULL);
	for (int i = 0; i < 2; i++)
		workers[i] = co_loop_thread(&ep);
	must(write(jobs[1], "j", 1));
	pthread_join(workers[0], NULL);
}
