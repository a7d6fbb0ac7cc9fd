// SPDX-License-Identifier: MIT
// expect: CTP001 suspect..likely, 5 coroutines
// order: SIGUSR1
//
// A script's table has numbers only, and all numbers are doubles: an address of
// 47 bits fits into one without loss, and that is how the library's coroutines
// go through the script and come back.
#include "ordered.h"

#define TASKS 5

struct table {
	double *array;
	size_t n, room;
};

static struct table waiting; // descriptor, task, descriptor, task, ...
static int ep, finished;

static NOINLINE void append(struct table *t, double x)
{
	if (t->n == t->room) {
		t->room = t->room ? 2 * t->room : 4;
		t->array = realloc(t->array, t->room * sizeof(double));
		must(t->array ? 0 : -1);
	}
	t->array[t->n++] = x;
}

static NOINLINE double to_script(struct co *c)
{
	return (double)(uintptr_t)c;
}

static NOINLINE struct co *from_script(double x)
{
	return (struct co *)(uintptr_t)x;
}

static void task(void *arg)
{
	int fd = (int)(intptr_t)arg;
	char buf[64];
	while (co_read(ep, fd, buf, sizeof(buf)) > 0)
		;
	finished++;
	ended++;
}

static NOINLINE void script_spawn(const char *kind)
{
	int fds[2];
	pair(kind, fds);
	struct co *c = co_new(task, (void *)(intptr_t)fds[0]);
	append(&waiting, fds[0]);
	append(&waiting, to_script(c));
	co_resume(c);
}

static NOINLINE void script_close_all(void)
{
	for (size_t i = 0; i < waiting.n; i += 2)
		close((int)waiting.array[i]); // fault
}

static NOINLINE void script_resume(size_t i)
{
	co_resume(from_script(waiting.array[i]));
}

static NOINLINE void script_sweep(void)
{
	for (size_t i = 1; i < waiting.n; i += 2)
		script_resume(i);
	waiting.n = 0;
}

int main(void)
{
	ep = (int)must(epoll_create1(EPOLL_CLOEXEC));
	take_orders(SIGUSR1);
	for (int i = 0; i < TASKS; i++)
		script_spawn(i % 2 ? "tcp" : "unix");
	script_close_all();
	serve_until_ordered(ep);
	script_sweep();
	must(finished == TASKS ? 0 : -1);
	return all_resumed(TASKS);
}
