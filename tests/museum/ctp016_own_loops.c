// SPDX-License-Identifier: MIT
// expect: CTP016 suspect, 1 coroutines
//
// Two threads, each with a loop of its own. On one of them a coroutine checks
// signatures for a long time; the other thread cannot help those who wait there.
#include <sys/epoll.h>
#include <time.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

struct shard {
	int ep, jobs[2], clients[2];
};
static struct shard shards[2];
static volatile unsigned long sum;

static unsigned long cpu_ms(void)
{
	struct timespec t;
	must(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t));
	return (unsigned long)(t.tv_sec * 1000 + t.tv_nsec / 1000000);
}

static NOINLINE char next_job(struct shard *s)
{
	char job = 0;
	co_read(s->ep, s->jobs[0], &job, 1);
	return job;
}

static NOINLINE void check_signature(char job)
{
	for (unsigned long end = cpu_ms() + 400; job == 'h' && cpu_ms() < end;)
		for (unsigned i = 0; i < 100000; i++)
			sum = sum * 31 + i;
	if (job == 'h')
		say("ready");
}

static void verifier(void *arg)
{
	struct shard *s = arg;
	for (;;)
		check_signature(next_job(s)); // fault
}

static void client(void *arg)
{
	struct shard *s = arg;
	uint64_t messages;
	co_read(s->ep, s->clients[0], &messages, sizeof(messages));
}

static void *shard_thread(void *arg)
{
	struct shard *s = arg;
	co_turn(s->ep, 1); // the loop is up, and finds nothing yet
	co_start(client, s);
	co_start(verifier, s);
	co_loop(s->ep);
}

int main(void)
{
	pthread_t threads[2];
	for (int i = 0; i < 2; i++) {
		shards[i].ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
		pair("pipe", shards[i].jobs);
		pair("eventfd", shards[i].clients);
		threads[i] = co_thread(shard_thread, &shards[i]);
	}
	must(write(shards[0].jobs[1], "l", 1)); // a light one
	must(write(shards[1].jobs[1], "h", 1));
	pthread_join(threads[0], NULL);
}
