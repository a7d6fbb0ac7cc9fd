// SPDX-License-Identifier: MIT
//
// engines_worker.c - see engines_worker.h.
#include "engines_worker.h"

#include <stdlib.h>
#include <sys/mman.h>

#include "must.h"

_Noreturn void jump(int kind, sigjmp_buf env, int value)
{
	if (kind == 0)
		_longjmp(env, value);
	if (kind == 1)
		longjmp(env, value);
	siglongjmp(env, value);
}

_Noreturn void jump_away(int kind, sigjmp_buf env)
{
	switched();
	jump(kind, env, 1);
}

__thread struct worker main_worker;
static struct worker *newborn;

static NOINLINE void worker_switch(struct worker *from, struct worker *to)
{
	if (sigsetjmp(from->env, 0) == 0)
		jump_away(2, to->env);
}

void worker_yield(struct worker *w)
{
	worker_switch(w, w->caller);
}

void worker_enter(struct worker *w, struct worker *caller)
{
	w->caller = caller;
	worker_switch(caller, w);
}

_Noreturn void worker_serve(struct worker *w, sigjmp_buf *creator)
{
	if (sigsetjmp(w->env, 0) == 0)
		jump_away(2, *creator);
	for (;;) {
		w->fn(w);
		w->done = true;
		worker_yield(w);
	}
}

static sigjmp_buf *creator;

static void body(void)
{
	worker_serve(newborn, creator);
}

struct worker *worker_new(void (*fn)(struct worker *w))
{
	struct worker *w = must_alloc(sizeof(*w));
	ucontext_t uc, old; // in this frame: the address serves many
	sigjmp_buf back;
	w->fn = fn;
	w->stack = must_map(STACK);
	must(mprotect(w->stack, 4096, PROT_NONE));
	make(&uc, w->stack, STACK, body, &old);
	newborn = w;
	creator = &back;
	if (sigsetjmp(back, 0) == 0)
		swap(&old, &uc);
	return w;
}

static struct worker *pool;

struct worker *worker_take(void (*fn)(struct worker *w))
{
	struct worker *w = pool;
	if (!w)
		return worker_new(fn);
	pool = w->pool_next;
	w->fn = fn;
	w->done = false;
	return w;
}

void worker_give(struct worker *w)
{
	w->pool_next = pool;
	pool = w;
}

void worker_free(struct worker *w)
{
	must(munmap(w->stack, STACK));
	free(w);
}
