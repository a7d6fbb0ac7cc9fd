// SPDX-License-Identifier: MIT
// expect: clean
// end: exit
//
// A pool of contexts: when a task has returned, its context is made anew on the
// same stack by getcontext and makecontext, and entered again.
#include "co.h"
#include "must.h"

static ucontext_t task, loop;
static char stack[64 << 10];
static int runs;

static void work(void)
{
	runs++;
	swapcontext(&task, &loop);
	runs++;
}

static void make(void)
{
	must(getcontext(&task));
	task.uc_stack.ss_sp = stack;
	task.uc_stack.ss_size = sizeof(stack);
	task.uc_link = &loop;
	makecontext(&task, work, 0);
}

int main(void)
{
	for (int i = 0; i < 10; i++) {
		make();
		swapcontext(&loop, &task);
		swapcontext(&loop, &task);
	}
	say(runs == 20 ? "done" : "wrong");
}
