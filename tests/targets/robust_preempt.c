// SPDX-License-Identifier: MIT
//
// robust_preempt.c - a scheduler that preempts: a timer's handler swaps the
// running coroutine away, wherever it is, and any thread may go on with it.
//   t-preempt COROUTINES YIELDS THREADS: each coroutine also yields by itself.
// Prints "switches N" last: what it counted itself.
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#include "must.h"

struct task {
	ucontext_t uc;
	ucontext_t *home; // the scheduler's, of the thread that runs it
	long left;
	bool done;
};

static struct task *tasks;
static int n_tasks;
static _Atomic(struct task *) *queue; // of those that can go on; NULL: taken
static atomic_long switches, preempted, live;

static __thread struct task *volatile running __attribute__((tls_model("initial-exec")));

static __attribute__((noinline)) struct task *self(void)
{
	return running;
}

static void away(void)
{
	struct task *t = self();
	atomic_fetch_add(&switches, 1);
	must(swapcontext(&t->uc, t->home));
}

static void alarm_handler(int sig)
{
	(void)sig;
	if (!self())
		return;
	atomic_fetch_add(&preempted, 1);
	away();
}

static void block(int how)
{
	sigset_t s;
	sigemptyset(&s);
	sigaddset(&s, SIGALRM);
	pthread_sigmask(how, &s, NULL);
}

static void body(int i)
{
	struct task *t = &tasks[i];
	block(SIG_UNBLOCK);
	while (t->left-- > 0) {
		ucontext_t scratch;
		getcontext(&scratch); // the alarm may strike anywhere in here
		close(dup(0));
		block(SIG_BLOCK);
		away();
		block(SIG_UNBLOCK);
	}
	block(SIG_BLOCK);
	t->done = true;
	away();
}

static void *scheduler(void *arg)
{
	ucontext_t home;
	timer_t timer;
	struct sigevent ev = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = SIGALRM};
	struct itimerspec it = {{0, 200000}, {0, 200000}};
	ev._sigev_un._tid = (int)syscall(SYS_gettid);
	block(SIG_BLOCK);
	must(timer_create(CLOCK_MONOTONIC, &ev, &timer));
	timer_settime(timer, 0, &it, NULL);
	while (atomic_load(&live) > 0) {
		for (int i = 0; i < n_tasks; i++) {
			struct task *t = atomic_exchange(&queue[i], NULL);
			if (!t)
				continue;
			t->home = &home;
			running = t;
			atomic_fetch_add(&switches, 1);
			must(swapcontext(&home, &t->uc));
			running = NULL;
			if (t->done)
				atomic_fetch_sub(&live, 1);
			else
				atomic_store(&queue[i], t);
		}
	}
	timer_delete(timer);
	return arg;
}

int main(int argc, char **argv)
{
	struct sigaction sa = {.sa_handler = alarm_handler, .sa_flags = SA_RESTART};
	pthread_t t[16];
	int threads = argc > 3 ? atoi(argv[3]) : 1;
	n_tasks = argc > 1 ? atoi(argv[1]) : 4;
	tasks = calloc((size_t)n_tasks, sizeof(*tasks));
	queue = calloc((size_t)n_tasks, sizeof(*queue));
	sigaction(SIGALRM, &sa, NULL);
	block(SIG_BLOCK);
	for (int i = 0; i < n_tasks; i++) {
		tasks[i].left = argc > 2 ? atol(argv[2]) : 1000;
		getcontext(&tasks[i].uc);
		tasks[i].uc.uc_stack.ss_sp = must_map(64 << 10);
		tasks[i].uc.uc_stack.ss_size = 64 << 10;
		makecontext(&tasks[i].uc, (void (*)(void))body, 1, i);
		atomic_store(&queue[i], &tasks[i]);
	}
	atomic_store(&live, n_tasks);
	for (int i = 1; i < threads; i++)
		must(pthread_create(&t[i], NULL, scheduler, NULL));
	scheduler(NULL);
	for (int i = 1; i < threads; i++)
		must(pthread_join(t[i], NULL));
	fprintf(stderr, "preempted %ld\n", atomic_load(&preempted));
	printf("switches %ld\n", atomic_load(&switches));
	return 0;
}
