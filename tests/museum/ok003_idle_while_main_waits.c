// SPDX-License-Identifier: MIT
// expect: CTP003 none..suspect, 6 coroutines
//
// The scheduler is a coroutine, too, and main's own stack waits in it. Its workers are
// idle, in a list; jobs come through an eventfd from a thread, which has none at the
// moment. A program that is stuck may look like this: each of its threads sleeps for good.
#include <semaphore.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define WORKERS 6
#define JOBS 12

static struct co *idle[WORKERS];
static struct co_handler queue;
static int ep, nidle, done;
static sem_t work_for_us;

static void worker(void *arg)
{
	(void)arg;
	for (;;) {
		idle[nidle++] = co_self();
		co_yield();
		done++;
	}
}

static void on_jobs(struct co_handler *h, uint32_t events)
{
	uint64_t n;
	(void)events;
	for (must(read(h->fd, &n, sizeof(n))); n > 0 && nidle > 0; n--)
		co_resume(idle[--nidle]);
	if (done == JOBS)
		say("ready");
}

static void schedule(void *arg)
{
	(void)arg;
	for (int i = 0; i < WORKERS; i++)
		co_start(worker, NULL);
	for (;;)
		co_turn(ep, -1);
}

static void *produce(void *arg)
{
	uint64_t one = 1;
	(void)arg;
	for (int i = 0; i < JOBS; i++)
		must(write(queue.fd, &one, sizeof(one)));
	for (;;)
		sem_wait(&work_for_us);
	return NULL;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	queue.fn = on_jobs;
	queue.fd = (int)must(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
	co_handle(ep, &queue, EPOLLIN);
	must(sem_init(&work_for_us, 0, 0));
	co_thread(produce, NULL);
	co_start(schedule, NULL);
}
