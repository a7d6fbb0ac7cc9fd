// SPDX-License-Identifier: MIT
//
// Names the stack on which a hook was called.
#include "preload/coroutine/announced.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/stacks.h"

#include "cpu.h"

__attribute__((noinline)) struct ctp_state *announced_private(uint64_t at)
{
	return at < station_count() ? station_at((uint32_t)at + 1) : NULL;
}

// On whose stack an announced coroutine runs: a thread's own, or that of a coroutine that has one. NULL: it
// is not known.
static const struct ctp_state *base_of(const struct thread_ctx *g, const struct ctp_state *s)
{
	for (unsigned i = 0; s && announced_is(s); i++) {
		if (i == ANNOUNCED_NESTED)
			return NULL;
		s = announced_of(state_private(s)->resumer);
	}
	return s ? s : g->native;
}

struct question {
	const struct frame *f;
	uint64_t top;
};

static uint64_t ask(void *arg)
{
	const struct question *q = arg;
	return stacks_id(q->f, q->top, NULL);
}

// Whose stack `f` is on, if the one that runs has it not: the resumer's of a coroutine without a stack. NULL:
// a signal's.
static const struct ctp_state *other(const struct thread_ctx *g, const struct ctp_state *s,
				     const struct frame *f)
{
	s = s->source == CTP_SOURCE_PROGRAM ? base_of(g, s) : NULL;
	if (!s)
		return NULL;
	bool has = s->entity == CTP_COROUTINE ? f->sp >= s->lo && f->sp <= s->hi :
						coroutine_native_has(g, f->sp);
	return has ? s : NULL;
}

// A walk needs more stack than a coroutine may have left: hooks that stand on
// the program's stack make it on their own.
static __attribute__((noinline)) uint32_t walked(struct thread_ctx *g, const struct frame *f, uint64_t top)
{
	struct question q = {f, top};
	return (uint32_t)(cpu_is_private(g) ? ask(&q) : cpu_on_private(g, ask, &q));
}

static __attribute__((noinline)) uint32_t found(struct thread_ctx *g, const struct frame *f)
{
	const struct ctp_state *s = g->current;
	if (s->entity == CTP_COROUTINE && (f->sp < s->lo || f->sp > s->hi) && !(s = other(g, s, f)))
		return 0;
	uint64_t top = coroutine_stack_top(g, s);
	const struct candidate *met = stacks_met(f, top);
	if (CTP_UNLIKELY(!met))
		return walked(g, f, top);
	if (s == g->current)
		g->named[f->pc % GUEST_NAMED] = (struct named_stack){s->id, f->sp, met};
	return met->stack;
}

uint32_t guest_stack(struct thread_ctx *g, const struct frame *f)
{
	const struct candidate *named = stacks_named(g, f);
	return CTP_LIKELY(named != NULL) ? named->stack : found(g, f);
}
