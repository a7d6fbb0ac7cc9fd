// SPDX-License-Identifier: MIT
// expect: CTP016 suspect, 1 coroutines
// engine: both
//
// A report is asked for, and the worker digests a large table without ever
// yielding. The subscriber that waits on the same loop is not served meanwhile.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

static int ep, requests[2], feed[2];
static volatile unsigned long sum;

static unsigned long cpu_ms(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (unsigned long)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static NOINLINE void digest_rows(void)
{
	for (unsigned i = 0; i < 100000; i++)
		sum = sum * 31 + i;
}

static NOINLINE char next_request(void)
{
	char request = 0;
	co_read(ep, requests[0], &request, 1);
	return request;
}

static NOINLINE void digest_table(char which)
{
	for (unsigned long end = cpu_ms() + 400; which == 'r' && cpu_ms() < end;)
		digest_rows();
	say("ready");
}

static void report_worker(void *arg)
{
	(void)arg;
	for (;;)
		digest_table(next_request()); // fault
}

static void subscriber(void *arg)
{
	char message;
	(void)arg;
	co_read(ep, feed[0], &message, 1);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	pair("pipe", requests);
	pair("unix", feed);
	co_start(subscriber, NULL);
	co_start(report_worker, NULL);
	must(write(requests[1], "r", 1));
	co_loop(ep);
}
