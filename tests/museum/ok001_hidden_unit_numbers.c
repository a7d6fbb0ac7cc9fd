// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 6 coroutines
// order: SIGUSR1
//
// Whoever is suspended is a number of 32 bits, as in compressed pointers: how many units of 16
// bytes lie between the first block of the heap and the coroutine. The heap is small, and so are
// the numbers.
#include "ordered.h"

#ifndef JOBS
#define JOBS 6
#endif

static struct first_block {
	uint64_t magic;
} *base;
static struct job {
	uint32_t co;
	int fd;
} jobs[JOBS];
static int ep;

static NOINLINE void pack(struct job *job, struct co *c)
{
	job->co = (uint32_t)(((char *)c - (char *)base) >> 4);
}

static NOINLINE struct co *unpack(const struct job *job)
{
	return (struct co *)((char *)base + ((size_t)job->co << 4));
}

static void work(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void begin_job(struct job *job)
{
	int fds[2];
	pair("pipe", fds);
	job->fd = fds[0];
	struct co *c = co_new(work, (void *)(intptr_t)job->fd);
	pack(job, c);
	co_resume(c);
	must(write(fds[1], "go", 2));
	co_turn(ep, -1);
}

static NOINLINE void cancel_jobs(void)
{
	for (int i = 0; i < JOBS; i++)
		close(jobs[i].fd); // fault
}

static NOINLINE void end_jobs(void)
{
	for (int i = 0; i < JOBS; i++)
		co_resume(unpack(&jobs[i]));
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	base = must_alloc(sizeof(*base));
	take_orders(SIGUSR1);
	for (int i = 0; i < JOBS; i++)
		begin_job(&jobs[i]);
	cancel_jobs();
	serve_until_ordered(ep);
	end_jobs();
	return all_resumed(JOBS);
}
