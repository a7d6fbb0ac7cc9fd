// SPDX-License-Identifier: MIT
// expect: clean
// expect: fact CTP013
// end: exit
//
// A job for every tick, on ucontext alone: it waits once, and ends by a last
// swapcontext, as there is no uc_link. What it computed stays with its context
// until the program ends, so jobs that are done lie suspended for ever.
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <ucontext.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { JOBS = 50, STACK = 64 << 10 };

struct job {
	ucontext_t uc;
	bool done;
	long result;
};

static ucontext_t loop;
static struct job jobs[JOBS], *running;
static int ep, tick, made;

static void compute(void)
{
	struct job *self = running;
	self->result = 1;
	swapcontext(&self->uc, &loop); // until the next tick
	self->result++;
	self->done = true;
	swapcontext(&self->uc, &loop);
}

static void enter(struct job *j)
{
	running = j;
	swapcontext(&loop, &j->uc);
}

static NOINLINE void job_start(struct job *j)
{
	must(getcontext(&j->uc));
	j->uc.uc_stack.ss_sp = must_map(STACK);
	j->uc.uc_stack.ss_size = STACK;
	makecontext(&j->uc, compute, 0);
	enter(j);
}

int main(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	uint64_t n;
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	tick = (int)must(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, tick, &ev));
	while (made < JOBS || !jobs[JOBS - 1].done) {
		must(epoll_wait(ep, &ev, 1, -1));
		must(read(tick, &n, sizeof(n)));
		if (made)
			enter(&jobs[made - 1]);
		if (made < JOBS)
			job_start(&jobs[made++]);
		must(write(tick, &(uint64_t){1}, 8));
	}
	return 0;
}
