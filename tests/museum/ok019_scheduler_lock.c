// SPDX-License-Identifier: MIT
// expect: clean
//
// A scheduler of its own whose run queue has a lock: it is held across every
// switch, and the coroutine that goes on lets it go. That is how it is meant.
#include <pthread.h>
#include <stdlib.h>
#include <ucontext.h>
#include <unistd.h>

#include "co.h"
#include "must.h"

#define TASKS 3
#define ROUNDS 100

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER;
static struct task {
	ucontext_t uc;
	int next;
} tasks[TASKS];
static int running;

// Called, and returned from, with the queue locked.
static NOINLINE void switch_away(void)
{
	struct task *from = &tasks[running];
	running = from->next;
	must(swapcontext(&from->uc, &tasks[running].uc));
}

static NOINLINE void yield(void)
{
	pthread_mutex_lock(&queue_lock);
	switch_away();
	pthread_mutex_unlock(&queue_lock);
}

static void task_main(void)
{
	pthread_mutex_unlock(&queue_lock); // whoever switched here had it
	for (int i = 0; i < ROUNDS; i++)
		yield();
	say("ready");
	for (;;)
		pause();
}

int main(void)
{
	for (int i = 0; i < TASKS; i++) {
		must(getcontext(&tasks[i].uc));
		tasks[i].uc.uc_stack.ss_sp = must_map(64 << 10);
		tasks[i].uc.uc_stack.ss_size = 64 << 10;
		tasks[i].next = (i + 1) % TASKS;
		makecontext(&tasks[i].uc, task_main, 0);
	}
	pthread_mutex_lock(&queue_lock);
	must(setcontext(&tasks[0].uc));
}
