// SPDX-License-Identifier: MIT
// expect: clean
// expect: fact CTP013
// end: exit
//
// A small library of the program's own: what runs a coroutine's function
// switches away for good when that has returned, and keeps the stack for whoever
// asks for the result. Some of the functions wait, the one that is started for
// every request does not.
#include <stdbool.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <ucontext.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

enum { REQUESTS = 50, STACK = 64 << 10 };

struct task {
	ucontext_t uc, back;
	void (*fn)(struct task *t);
	bool done;
	long result;
};

static struct task *current, tasks[REQUESTS + 2];
static int ep, requests, ntasks, served;

static NOINLINE void task_switch(ucontext_t *from, ucontext_t *to)
{
	must(swapcontext(from, to));
}

static NOINLINE void task_enter(struct task *t)
{
	struct task *outer = current;
	current = t;
	task_switch(&t->back, &t->uc);
	current = outer;
}

static NOINLINE void task_wait(struct task *t)
{
	task_switch(&t->uc, &t->back);
	served++;
}

static NOINLINE void task_finish(struct task *t)
{
	t->done = true;
	task_switch(&t->uc, &t->back);
}

static void task_body(void)
{
	struct task *t = current;
	t->fn(t);
	task_finish(t);
	abort();
}

static NOINLINE void task_start(void (*fn)(struct task *t))
{
	struct task *t = &tasks[ntasks++];
	t->fn = fn;
	must(getcontext(&t->uc));
	t->uc.uc_stack.ss_sp = must_map(STACK);
	t->uc.uc_stack.ss_size = STACK;
	makecontext(&t->uc, task_body, 0);
	task_enter(t);
}

static void answer(struct task *t)
{
	t->result = served;
}

static NOINLINE void on_request(void)
{
	task_start(answer);
}

static void server(struct task *t)
{
	uint64_t n;
	for (;;) {
		task_wait(t);
		must(read(requests, &n, sizeof(n)));
		on_request();
		must(write(requests, &(uint64_t){1}, 8));
	}
}

static void statistics(struct task *t)
{
	for (;;)
		task_wait(t);
}

int main(void)
{
	struct epoll_event ev = {.events = EPOLLIN};
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	requests = (int)must(eventfd(1, EFD_NONBLOCK | EFD_CLOEXEC));
	must(epoll_ctl(ep, EPOLL_CTL_ADD, requests, &ev));
	task_start(server);
	task_start(statistics);
	while (ntasks < REQUESTS + 2) {
		must(epoll_wait(ep, &ev, 1, -1));
		task_enter(&tasks[0]);
		task_enter(&tasks[1]);
	}
	return 0;
}
