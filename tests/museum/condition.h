// SPDX-License-Identifier: MIT
//
// condition.h - conditions of coroutines, and those that can run, in their order. Who waits at a
// condition is linked from its own stack. The exhibit has the wait.
#pragma once

#include <sys/epoll.h>

#include "co.h"
#include "must.h"

struct condition {
	struct link {
		struct link *next;
		struct co *co;
	} *waiters;
};

static struct co *runnable[32];
static int nrunnable;

static void let_others_run(void)
{
	runnable[nrunnable++] = co_self();
	co_yield();
}

static void notify_all(struct condition *c)
{
	for (struct link *l = c->waiters; l; l = l->next)
		runnable[nrunnable++] = l->co;
	c->waiters = NULL;
}

static NOINLINE void run_all(void)
{
	for (int i = 0; i < nrunnable; i++) {
		struct co *c = runnable[i];
		runnable[i] = NULL;
		co_resume(c);
	}
	nrunnable = 0;
}
