// SPDX-License-Identifier: MIT
// expect: CTP010 proven, 1 coroutine
//
// Two workers share a ready queue. A job that waits for its disk puts itself
// into the queue *before* it has switched away, and is slow to leave: the other
// worker takes it and enters a context that has not been saved yet.
#include <unistd.h>

#include "co.h"
#include "must.h"

struct job {
	ucontext_t ctx, *home;
	int reads;
};
static struct job job;
static int queue[2], disk[2];
static char stack[64 << 10];

static NOINLINE void yield(struct job *j)
{
	swapcontext(&j->ctx, j->home);
}

static void run(struct job *j, ucontext_t *home)
{
	j->home = home;
	swapcontext(home, &j->ctx); // fault
}

static void read_disk(struct job *j)
{
	char byte;
	if (++j->reads > 1)
		return;
	must(write(queue[1], "j", 1)); // ready when the disk is: too early
	must(read(disk[0], &byte, 1)); // still here: the disk is slow
}

static void backup(void)
{
	for (;;) {
		yield(&job);
		read_disk(&job);
	}
}

static void *second_worker(void *arg)
{
	ucontext_t home;
	char byte;
	(void)arg;
	must(read(queue[0], &byte, 1));
	until_reads(getpid()); // the disk is slow
	run(&job, &home);
	say("ready");
	must(read(queue[0], &byte, 1));
	return NULL;
}

int main(void)
{
	ucontext_t home;
	must(pipe(queue));
	must(pipe(disk));
	must(getcontext(&job.ctx));
	job.ctx.uc_stack.ss_sp = stack;
	job.ctx.uc_stack.ss_size = sizeof(stack);
	makecontext(&job.ctx, backup, 0);
	run(&job, &home);
	co_thread(second_worker, NULL);
	run(&job, &home);
	return 1;
}
