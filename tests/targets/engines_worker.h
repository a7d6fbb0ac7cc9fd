// SPDX-License-Identifier: MIT
//
// engines_worker.h - QEMU's coroutines: born in a swapcontext that never
// returns, siglongjmp ever after; a guard page inside the stack they declare;
// pooled and used again. And the ways to save and to jump that setjmp.h offers.
#pragma once

#include <setjmp.h>

#include "engines.h"

enum { KINDS = 4 };
#define SAVE(kind, env) ((kind) == 0 ? _setjmp(env) : (kind) == 1 ? setjmp(env) : sigsetjmp(env, (kind) == 3))
_Noreturn void jump(int kind, sigjmp_buf env, int value);
_Noreturn void jump_away(int kind, sigjmp_buf env); // counted

struct worker {
	sigjmp_buf env;
	struct worker *caller, *pool_next;
	char *stack;
	void (*fn)(struct worker *w);
	bool done;
};
extern __thread struct worker main_worker;

struct worker *worker_new(void (*fn)(struct worker *w));
struct worker *worker_take(void (*fn)(struct worker *w)); // from the pool, or new
void worker_give(struct worker *w);                       // to the pool
void worker_free(struct worker *w);
void worker_enter(struct worker *w, struct worker *caller);
void worker_yield(struct worker *w);
_Noreturn void worker_serve(struct worker *w, sigjmp_buf *creator); // what each does from its birth on
