// SPDX-License-Identifier: MIT
//
// The ucontext family. Trampolines call these functions on the private stack with the guard
// taken, before the real function runs; g->regs holds the caller's registers. Nothing here may
// block, allocate, or change errno. (The trampoline of getcontext notes what it saves.)
#include "context.h"
#include "preload/coroutine/coroutine.h"
#include "preload/guest/exit.h"
#include "preload/coroutine/stack_index.h"
#include "preload/guest/emit.h"
#include "preload/guest/real.h"
#include "preload/coroutine/station.h"

void hook_makecontext(struct thread_ctx *g, struct arguments *a);
void hook_setcontext(struct thread_ctx *g, struct arguments *a);
void hook_swapcontext(struct thread_ctx *g, struct arguments *a);
void hook_return(struct thread_ctx *g, ucontext_t *link);
void ctp_coroutine_begin(void) __attribute__((visibility("hidden")));

// The coroutine that a context as made by makecontext will begin. A context
// that is entered a second time begins another coroutine on the same stack.
static struct ctp_state *beginning(struct thread_ctx *g, ucontext_t *u)
{
	struct ctp_state *s = (struct ctp_state *)*context_record(u);
	uint64_t sp = context_sp(u);
	if (!s || sp < s->lo || sp > s->hi) { // not ours after all
		struct target t = {(uint64_t)u, sp, context_pc(u)};
		return coroutine_find(g, &t);
	}
	if (s->life == CTP_CREATED)
		return s;
	if (s->life == CTP_DESTROYED && !s->runs) { // it was taken for superseded
		struct target t = {(uint64_t)u, sp, context_pc(u)};
		return coroutine_find(g, &t);
	}
	struct ctp_state *again = coroutine_make(g, s->lo, s->hi, *context_function(u), (uint64_t)u);
	if (!again)
		return s;
	*context_record(u) = (uint64_t)again;
	return again;
}

static inline struct ctp_state *target_of(struct thread_ctx *g, ucontext_t *u)
{
	if (context_pc(u) == (uint64_t)ctp_coroutine_begin)
		return beginning(g, u);
	if (CTP_UNLIKELY((uint64_t)u == g->saved_slot && context_sp(u) == g->saved[CTP_REG_SP]) ||
	    CTP_UNLIKELY((uint64_t)u == g->kept_slot && context_sp(u) == g->kept[CTP_REG_SP]))
		return g->current; // back to where it was in this slice
	struct target t = {(uint64_t)u, context_sp(u), context_pc(u)};
	return coroutine_find(g, &t);
}

void hook_makecontext(struct thread_ctx *g, struct arguments *a)
{
	ucontext_t *u = (ucontext_t *)ARGUMENT(a, 0);
	uint64_t lo = (uint64_t)u->uc_stack.ss_sp, bytes = u->uc_stack.ss_size;
	if (!lo || !bytes || lo + bytes < lo)
		return;                     // its begin and end will not be seen, its switches will
	if (g->saved_slot == (uint64_t)u) { // the usual getcontext before makecontext: no save
		g->saved_slot = g->kept_slot;
		memcpy(g->saved, g->kept, sizeof(g->saved));
		g->kept_slot = 0;
	}
	struct ctp_state *s = coroutine_make(g, lo, lo + bytes, ARGUMENT(a, 1), (uint64_t)u);
	if (!s)
		return;
	s->link = (uint64_t)u->uc_link;
	*context_function(u) = ARGUMENT(a, 1);
	*context_record(u) = (uint64_t)s;
	ARGUMENT(a, 1) = (uint64_t)ctp_coroutine_begin;
}

void hook_setcontext(struct thread_ctx *g, struct arguments *a)
{
	ucontext_t *u = (ucontext_t *)ARGUMENT(a, 0);
	if (u)
		coroutine_leave(g, target_of(g, u), CTP_HOW_SET);
}

void hook_swapcontext(struct thread_ctx *g, struct arguments *a)
{
	ucontext_t *u = (ucontext_t *)ARGUMENT(a, 1);
	if (!u || ARGUMENT(a, 0) == (uint64_t)u)
		return;
	struct ctp_state *to = target_of(g, u);
	g->current->left_to = (uint64_t)u;
	coroutine_switch(g, to, CTP_HOW_SWAP, ARGUMENT(a, 0));
}

// The running coroutine's function has returned; glibc goes on at `link`, or
// exits the process.
void hook_return(struct thread_ctx *g, ucontext_t *link)
{
	if (link) {
		coroutine_switch(g, target_of(g, link), CTP_HOW_RETURN, 0);
		return;
	}
	coroutine_ends(g);
	exit_begins(g, CTP_EXIT_LINK, 0, 0);
}
