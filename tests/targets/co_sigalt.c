// SPDX-License-Identifier: MIT
//
// co_sigalt.c - co.h's engine for those who have no makecontext: a signal is
// handled on the new stack, its handler saves itself by sigsetjmp and returns,
// and is entered again by siglongjmp, for good.
#include "co.h"

#include <signal.h>

#include "must.h"

static __thread struct co *born;

static void birth(int sig)
{
	struct co *c = born;
	(void)sig;
	if (sigsetjmp(c->own.jump, 0) == 0)
		return;
	co_body(c);
}

static void make(struct co *c)
{
	stack_t ss = {.ss_sp = c->stack, .ss_size = c->bytes}, old;
	struct sigaction sa = {.sa_handler = birth, .sa_flags = SA_ONSTACK}, before;
	must(sigaction(SIGUSR2, &sa, &before));
	must(sigaltstack(&ss, &old));
	born = c;
	must(pthread_kill(pthread_self(), SIGUSR2));
	born = NULL;
	must(sigaltstack(&old, NULL));
	must(sigaction(SIGUSR2, &before, NULL));
}

static void swap(struct co *c, union co_context *from, union co_context *to)
{
	co_sjlj.swap(c, from, to);
}

static void leave(union co_context *to)
{
	co_sjlj.leave(to);
}

const struct co_engine co_sigalt = {"sigalt", make, swap, leave};
