// SPDX-License-Identifier: MIT
// expect: CTP011 proven, 3 coroutines
// patched: slot slot_back struct saved
//
// Two producers wake the same job: it stands in the run queue twice. The worker
// thread runs it to its end for the first entry, and enters it for the second.
#include <unistd.h>

#include "co.h"
#include "must.h"

#define JOBS 3

static struct job {
	ucontext_t ctx;
	int wakeups;
} jobs[JOBS], *current;
static ucontext_t worker_ctx;
static int queue[2];

static NOINLINE void wait_input(struct job *j)
{
	swapcontext(&j->ctx, &worker_ctx);
}

static void convert(void)
{
	struct job *j = current;
	do {
		wait_input(j);
	} while (++j->wakeups > 1);
}

static void make(struct job *j)
{
	must(getcontext(&j->ctx));
	j->ctx.uc_stack.ss_sp = must_map(64 << 10);
	j->ctx.uc_stack.ss_size = 64 << 10;
	j->ctx.uc_link = &worker_ctx;
	makecontext(&j->ctx, convert, 0);
}

static void *worker(void *arg)
{
	(void)arg;
	for (int i = 0; i < JOBS; i++) {
		make(current = &jobs[i]);
		swapcontext(&worker_ctx, &jobs[i].ctx);
	}
	must(write(queue[1], "012012!", 7)); // the producers
	for (char n; read(queue[0], &n, 1) == 1 && n != '!';)
		swapcontext(&worker_ctx, &jobs[n - '0'].ctx); // fault
	say("ready");
	pause();
	return NULL;
}

int main(void)
{
	must(pipe(queue));
	pthread_join(co_thread(worker, NULL), NULL);
}
