// SPDX-License-Identifier: MIT
// expect: clean
// engine: both
// end: exit
// run: --overflow=block
//
// Four workers take jobs from one queue; a job is put back by the worker that ran
// it, after it has left. Each runs on all threads, one after the other.
#include <unistd.h>

#include "co.h"
#include "must.h"

#define JOBS 8
#define ROUNDS 200

static int queue[2];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int left = JOBS;

static void job(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		co_yield();
}

static void put(struct co *c)
{
	must(write(queue[1], &c, sizeof(c)));
}

static bool all_done(void)
{
	pthread_mutex_lock(&lock);
	bool last = --left == 0;
	pthread_mutex_unlock(&lock);
	return last;
}

static void *worker(void *arg)
{
	struct co *c;
	(void)arg;
	while (read(queue[0], &c, sizeof(c)) == sizeof(c) && c) {
		co_resume(c);
		if (!c->done)
			put(c);
		else if (all_done())
			for (int i = 0; i < 4; i++)
				put(NULL);
	}
	return NULL;
}

int main(void)
{
	pthread_t workers[4];
	must(pipe(queue));
	for (int i = 0; i < JOBS; i++) {
		struct co *c = co_new(job, NULL);
		c->pinned = true;
		put(c);
	}
	for (int i = 0; i < 4; i++)
		workers[i] = co_thread(worker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(workers[i], NULL);
	say("done");
}
