// SPDX-License-Identifier: MIT
//
// engines.c - see engines.h: `t-engines-NAME CASE`, or `list`.
#include "engines.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "must.h"

int argument;
static unsigned long coroutines, switches, finished, destroyed;
static bool knows_ends;

void made(void)
{
	__atomic_fetch_add(&coroutines, 1, __ATOMIC_RELAXED);
}

void switched(void)
{
	__atomic_fetch_add(&switches, 1, __ATOMIC_RELAXED);
}

void ended(unsigned long f, unsigned long d)
{
	finished = f;
	destroyed = d;
	knows_ends = true;
}

void check_at(bool holds, const char *what, const char *file, int line)
{
	if (holds)
		return;
	fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
	_exit(98);
}

void make(ucontext_t *uc, char *stack, size_t bytes, void (*fn)(void), ucontext_t *link)
{
	made();
	must(getcontext(uc));
	uc->uc_stack.ss_sp = stack;
	uc->uc_stack.ss_size = bytes;
	uc->uc_link = link;
	makecontext(uc, fn, 0);
}

void swap(ucontext_t *from, ucontext_t *to)
{
	switched();
	must(swapcontext(from, to));
}

void set(ucontext_t *to)
{
	switched();
	must(setcontext(to));
}

pthread_t thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	if (pthread_create(&t, NULL, fn, arg) != 0)
		abort();
	return t;
}

static void on_tick(int sig)
{
	(void)sig;
	int keep = errno;
	char byte;
	if (read(-1, &byte, 1) == -1)
		errno = keep;
}

void ticks(bool on)
{
	static timer_t timer;
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	struct itimerspec t = {{0, 50000}, {0, 50000}};
	if (!on) {
		must(timer_delete(timer));
		return;
	}
	must(sigaction(SIGALRM, &sa, NULL));
	must(timer_create(CLOCK_MONOTONIC, NULL, &timer));
	must(timer_settime(timer, 0, &t, NULL));
}

void report(void)
{
	char line[96];
	if (knows_ends) {
		snprintf(line, sizeof(line), "finished %lu destroyed %lu", finished, destroyed);
		say(line);
	}
	snprintf(line, sizeof(line), "coroutines %lu switches %lu", coroutines, switches);
	say(line);
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "";
	argument = argc > 2 ? atoi(argv[2]) : 0;
	for (const struct engines_case *c = cases; c->name; c++) {
		if (!strcmp(name, "list"))
			say(c->name);
		if (strcmp(name, c->name) != 0)
			continue;
		c->run();
		report();
		return 0;
	}
	return !strcmp(name, "list") ? 0 : 2;
}
