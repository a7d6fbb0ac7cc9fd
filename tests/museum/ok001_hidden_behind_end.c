// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 4 coroutines
// order: SIGUSR1
//
// A table that is counted down: job[-1] is the last one. What is kept of it is one
// element behind its end, since job[-1] shall be a sentinel, which has no memory.
#include "ordered.h"

#define JOBS 4

struct job {
	char title[80];
	struct co *worker;
	long fd;
};

static struct job *job; // job[-2] to job[-1 - JOBS]
static int ep;

static NOINLINE void make_jobs(void)
{
	struct job *block = must_alloc(JOBS * sizeof(*block));
	must_alloc(1000); // so that the block is not the last one
	__asm__("" : "+r"(block));
	job = block + JOBS + 1;
}

static void work(void *arg)
{
	char buf[64];
	while (co_read(ep, (int)(intptr_t)arg, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void start(int i)
{
	int fds[2];
	pair(i % 2 ? "tcp" : "unix", fds);
	job[i].fd = fds[0];
	strcpy(job[i].title, "a job");
	job[i].worker = co_new(work, (void *)(intptr_t)fds[0]);
	co_resume(job[i].worker);
	must(write(fds[1], "input", 5));
	co_turn(ep, -1);
}

static NOINLINE void close_inputs(void)
{
	for (int i = -2; i >= -1 - JOBS; i--)
		close((int)job[i].fd); // fault
}

static NOINLINE void finish(int i)
{
	co_resume(job[i].worker);
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	make_jobs();
	for (int i = -2; i >= -1 - JOBS; i--)
		start(i);
	close_inputs();
	serve_until_ordered(ep);
	for (int i = -2; i >= -1 - JOBS; i--)
		finish(i);
	return all_resumed(JOBS);
}
