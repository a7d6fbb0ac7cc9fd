// SPDX-License-Identifier: MIT
//
// counts.c - programs that know how often they switched. `counts CASE [N]`
// runs one and prints "coroutines C switches S" last: C made, S by the
// contract's definition (spec: a switch is control passing from one coroutine
// or native stack to another; swapcontext(x, x), a setcontext onto one's own
// stack and a second return of getcontext are none).
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "co.h"
#include "counts.h"
#include "must.h"

unsigned long made, switched;
int size;

static void add(unsigned long n)
{
	__atomic_fetch_add(&switched, n, __ATOMIC_RELAXED);
}

void swap(ucontext_t *from, ucontext_t *to)
{
	add(1);
	must(swapcontext(from, to));
}

void make(ucontext_t *uc, char *stack, size_t bytes, ucontext_t *link)
{
	__atomic_fetch_add(&made, 1, __ATOMIC_RELAXED);
	must(getcontext(uc));
	uc->uc_stack.ss_sp = stack;
	uc->uc_stack.ss_size = bytes;
	uc->uc_link = link;
}

// ---- N coroutines of M yields each, by one thread

static void yielder(void *arg)
{
	for (int i = 0; i < (int)(intptr_t)arg; i++)
		co_yield();
}

static void run_all(int n, int yields)
{
	struct co **all = must_alloc((size_t)n * sizeof(*all));
	for (int i = 0; i < n; i++)
		all[i] = co_new(yielder, (void *)(intptr_t)yields);
	__atomic_fetch_add(&made, (unsigned long)n, __ATOMIC_RELAXED);
	for (int y = 0; y <= yields; y++)
		for (int i = 0; i < n; i++)
			co_resume(all[i]);
	free(all);
}

static void basic(void)
{
	run_all(10, size ? size : 100);
}

static void many(void)
{
	run_all(size ? size : 10000, 4);
}

// ---- threads: each its own coroutines; short-lived ones; migrating ones

static void *thread_body(void *arg)
{
	(void)arg;
	run_all(8, 50);
	return NULL;
}

static void threads(void)
{
	pthread_t t[64];
	for (int i = 0; i < 64; i++)
		t[i] = co_thread(thread_body, NULL);
	for (int i = 0; i < 64; i++)
		pthread_join(t[i], NULL);
}

static void short_threads(void)
{
	for (int i = 0; i < 300; i++)
		pthread_join(co_thread(thread_body, NULL), NULL);
}

static struct {
	pthread_mutex_t lock;
	pthread_cond_t cond;
	struct co *queue[64];
	int head, tail, left;
} mn = {.lock = PTHREAD_MUTEX_INITIALIZER, .cond = PTHREAD_COND_INITIALIZER};

static void mn_put(struct co *c)
{
	mn.queue[mn.tail++ % 64] = c;
	pthread_cond_signal(&mn.cond);
}

static void *mn_worker(void *arg)
{
	(void)arg;
	pthread_mutex_lock(&mn.lock);
	while (mn.left > 0) {
		if (mn.head == mn.tail) {
			pthread_cond_wait(&mn.cond, &mn.lock);
			continue;
		}
		struct co *c = mn.queue[mn.head++ % 64];
		pthread_mutex_unlock(&mn.lock);
		co_resume(c);
		pthread_mutex_lock(&mn.lock);
		if (!c->done)
			mn_put(c);
		else if (--mn.left == 0)
			pthread_cond_broadcast(&mn.cond);
	}
	pthread_mutex_unlock(&mn.lock);
	return NULL;
}

static void migrate(void)
{
	pthread_t t[4];
	mn.left = 40;
	for (int i = 0; i < mn.left; i++) {
		struct co *c = co_new(yielder, (void *)(intptr_t)(size ? size : 500));
		c->pinned = true;
		made++;
		mn_put(c);
	}
	for (int i = 0; i < 4; i++)
		t[i] = co_thread(mn_worker, NULL);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
}

// A coroutine that started on a thread which has ended goes on on another.
static void *first_half(void *c)
{
	co_resume(c);
	return NULL;
}

static void orphan(void)
{
	for (int i = 0; i < 50; i++) {
		struct co *c = co_new(yielder, (void *)1);
		made++;
		pthread_join(co_thread(first_half, c), NULL);
		co_resume(c);
	}
}

// ---- a scheduler that is itself a coroutine; coroutines that resume others

static ucontext_t main_uc, sched_uc, worker_uc[5];
static bool worker_done[5];

static void sched_worker(int i)
{
	for (int k = 0; k < 20; k++)
		swap(&worker_uc[i], &sched_uc);
	worker_done[i] = true;
	add(1); // through uc_link
}

static void sched_body(void)
{
	for (int left = 5; left > 0;)
		for (int i = 0; i < 5; i++) {
			if (worker_done[i])
				continue;
			swap(&sched_uc, &worker_uc[i]);
			left -= worker_done[i];
		}
	add(1); // through uc_link
}

static void scheduler(void)
{
	make(&sched_uc, must_map(65536), 65536, &main_uc);
	makecontext(&sched_uc, sched_body, 0);
	for (int i = 0; i < 5; i++) {
		make(&worker_uc[i], must_map(65536), 65536, &sched_uc);
		makecontext(&worker_uc[i], (void (*)(void))sched_worker, 1, i);
	}
	swap(&main_uc, &sched_uc);
}

static void nest(void *arg)
{
	int depth = (int)(intptr_t)arg;
	if (depth == 0)
		return;
	struct co *c = co_new(nest, (void *)(intptr_t)(depth - 1));
	made++;
	co_resume(c);
}

static void nested(void)
{
	for (int i = 0; i < 20; i++) {
		struct co *c = co_new(nest, (void *)20);
		made++;
		co_resume(c);
	}
}

static const struct {
	const char *name;
	void (*run)(void);
} cases[] = {
	{"basic", basic},     {"many", many},           {"threads", threads},
	{"short", short_threads}, {"migrate", migrate}, {"orphan", orphan},
	{"scheduler", scheduler}, {"nested", nested},   {"link", count_link},
	{"set", count_set},   {"reuse", count_reuse},   {"copy", count_copy},
	{"args", count_args}, {"twice", count_twice},   {"self", count_self},
	{"small", count_small}, {"exit", count_exit},   {"signal", count_signal},
	{"none", count_none}, {"unaligned", count_unaligned}, {"closeall", count_closeall},
};

void report(void)
{
	char line[96];
	snprintf(line, sizeof(line), "coroutines %lu switches %lu", made,
		 switched + __atomic_load_n(&co_switches, __ATOMIC_RELAXED));
	say(line);
}

int main(int argc, char **argv)
{
	size = argc > 2 ? atoi(argv[2]) : 0;
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(*cases); i++) {
		if (strcmp(argv[1], cases[i].name) != 0)
			continue;
		cases[i].run();
		report();
		return 0;
	}
	fprintf(stderr, "counts: which case?\n");
	return 2;
}
