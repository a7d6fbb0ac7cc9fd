// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 5 coroutines
// order: SIGUSR1
//
// Control blocks begin where lines of the cache do, and a job keeps the number of its
// coroutine's line, counted from the first block. The heap is small, and so are the numbers.
#include "ordered.h"

#define JOBS 5
#define LINE 64
#define STACK (64u << 10)

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
	job->co = (uint32_t)(((char *)c - (char *)base) >> 6);
}

static NOINLINE struct co *unpack(const struct job *job)
{
	return (struct co *)((char *)base + ((size_t)job->co << 6));
}

static void work(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	ended++;
}

static NOINLINE void *new_block(size_t bytes)
{
	void *at = aligned_alloc(LINE, (bytes + LINE - 1) / LINE * LINE);
	must(at ? 0 : -1);
	return at;
}

static NOINLINE void begin_job(struct job *job)
{
	int fds[2];
	pair("pipe", fds);
	job->fd = fds[0];
	struct co *c = new_block(sizeof(*c));
	co_init(c, work, (void *)(intptr_t)job->fd, must_map(STACK), STACK);
	c->pinned = true;
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
	base = new_block(sizeof(*base));
	take_orders(SIGUSR1);
	for (int i = 0; i < JOBS; i++)
		begin_job(&jobs[i]);
	cancel_jobs();
	serve_until_ordered(ep);
	end_jobs();
	return all_resumed(JOBS);
}
