// SPDX-License-Identifier: MIT
//
// The longjmp family, and the stacks of signal handlers. A longjmp to another stack is a
// switch; on the same stack it is error handling, and none. The target is given by the
// jmp_buf, if its owner saved itself there last and at just that place, otherwise by the stack
// in which the saved stack pointer lies: jmp_bufs are reused, and many coroutines can be
// copied through one stack. A handler that leaves a context behind on an alternate stack makes
// a coroutine of it, which begins when somebody jumps there. The trampoline of setjmp notes
// what it saves.
#include "context.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/crash.h"
#include "preload/hooks/hook.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/thread_ctx.h"

void hook_longjmp(struct thread_ctx *g, struct arguments *a);
int hook_abandons(struct thread_ctx *g, const void *env);

// Who left itself behind in `env`, at this very place.
static struct ctp_state *saved_at(struct thread_ctx *g, const struct target *t)
{
	struct ctp_state *s = handle_cache_find(t->slot);
	if (s->slot != t->slot) {
		s = stack_index_slot(t->slot);
		handle_cache_note(g, t->slot, s);
	}
	if (!s || s->regs[CTP_REG_SP] != t->sp)
		return NULL;
	if (s->life == CTP_DESTROYED) // or so it was thought
		return s->how == CTP_HOW_REUSED &&
				       state_private(s)->before == (CTP_SUSPENDED | CTP_HOW_JUMP << 8) ?
			       s :
			       NULL;
	return s->life == CTP_SUSPENDED && s->how == CTP_HOW_JUMP ? s : NULL;
}

static bool same_alt(const struct thread_ctx *g, uint64_t one, uint64_t other)
{
	for (unsigned i = 0; i < GUEST_ALTS; i++)
		if (one > g->alts[i].lo && one <= g->alts[i].hi && other > g->alts[i].lo &&
		    other <= g->alts[i].hi)
			return true;
	return false;
}

// Is that on the thread's private stack? A handler may stand there.
static bool on_private(const struct thread_ctx *g, uint64_t sp)
{
	return sp - (uint64_t)g < g->stack_top - (uint64_t)g;
}

// Does the running entity stay where it is? `sp`: where it is now.
static bool stays(struct thread_ctx *g, const struct target *t, uint64_t sp)
{
	const struct ctp_state *s = g->current;
	bool up = t->sp >= sp; // to a caller, if it is the same stack
	if (s->entity == CTP_COROUTINE && (coroutine_holds(s, t->sp) || s->regs[CTP_REG_SP] == t->sp))
		return true;
	if (stack_index_stack(t->sp))
		return false;
	if (same_alt(g, sp, t->sp)) // within a signal handler
		return true;
	if (s->entity == CTP_COROUTINE) // where its stack ends may not be known
		return s->lo == s->hi && up && t->sp - sp < COROUTINE_NATIVE_REACH;
	return s == g->native && (coroutine_native_has(g, t->sp) || (up && t->sp <= g->native_top));
}

// Does another than the running entity stand here? It does in the handler of a signal that came between a
// switch's record and the switch.
static bool is_astray(const struct thread_ctx *g, uint64_t sp)
{
	const struct ctp_state *s = g->current, *there;
	if (s->lo == s->hi || coroutine_holds(s, sp) || same_alt(g, sp, sp))
		return false;
	there = stack_index_known(sp);
	return there ? there != s : s->entity == CTP_COROUTINE && coroutine_native_has(g, sp);
}

// Is `a` on the same stack as `b`, as far as is known?
static bool same_stack(const struct thread_ctx *g, uint64_t a, uint64_t b)
{
	uint64_t apart = a > b ? a - b : b - a;
	if (on_private(g, a) || on_private(g, b))
		return on_private(g, a) && on_private(g, b);
	return same_alt(g, a, b) ||
	       (apart < COROUTINE_NATIVE_REACH && stack_index_known(a) == stack_index_known(b));
}

void hook_longjmp(struct thread_ctx *g, struct arguments *a)
{
	const void *env = (const void *)ARGUMENT(a, 0);
	if (!env)
		return;
	struct target t = {(uint64_t)env, jmpbuf_sp(env), jmpbuf_pc(env)};
	struct ctp_state *to = g->saved_slot == t.slot ? g->current : saved_at(g, &t);
	if (!to || to == g->current) {
		if (to || stays(g, &t, g->regs[CTP_REG_SP])) {
			if (CTP_UNLIKELY(is_astray(g, g->regs[CTP_REG_SP])) &&
			    !same_stack(g, g->regs[CTP_REG_SP], t.sp)) // a jump within the handler is none
				coroutine_missed(g);
			wait_leave(g); // out of a call that it was in, perhaps
			g->timed = false;
			return;
		}
		to = coroutine_find(g, &t);
	} else if (to->life == CTP_DESTROYED) {
		to = coroutine_find_slow(g, &t); // copied through one stack
	}
	coroutine_leave(g, to, CTP_HOW_JUMP);
}

// While the hook of another is under way, who was swapped away in it: does it jump, standing here? (By a
// handler that swaps what the kernel will restore, too: that is no call.)
static bool is_other(const struct thread_ctx *g, uint64_t here)
{
	uint32_t up = (g->hook & ~HOOK_HELD) - (uint32_t)here;
	if (!g->hook || on_private(g, here) || same_alt(g, here, here))
		return false;
	if (up < COROUTINE_NATIVE_REACH && same_stack(g, here, here + up))
		return false;
	return stack_index_known(here) || coroutine_native_has(g, here);
}

// Somebody jumps while a hook is under way: the handler of a signal that found it so, or who runs since such
// a handler has switched. Whether the hook is abandoned: then the guard is free again, and what it had half
// done is mended as far as it can be, and known to be poor. Where somebody may yet go on in it, it must find
// its stack and its guard as it left them: it is not. A way back is what was saved since it began; a jump to
// there is within the handler, or leads back. Before it began, nobody can have saved himself below it.
int hook_abandons(struct thread_ctx *g, const void *env)
{
	uint64_t sp = jmpbuf_sp(env), here = (uint64_t)__builtin_frame_address(0);
	bool held = g->hook & HOOK_HELD, within = on_private(g, sp) || same_alt(g, here, sp);
	if (held || within || on_private(g, (uint64_t)env) || is_other(g, here)) {
		if (!same_stack(g, here, sp))
			coroutine_missed(g);
		return 0;
	}
	ctp_or32(g->gaps, CTP_GAP_BLIND);
	if (g->current->turn & 1)
		ctp_state_end(g->current);
	fds_abandon(g);
	g->opens = 1;
	return 1;
}

static void alt_taken(struct thread_ctx *g, uint64_t lo, uint64_t hi)
{
	struct ctp_state *s = stack_index_stack(lo);
	if (s && s != g->current && s->lo == lo && s->hi == hi) // another is to be born there
		coroutine_released(g, lo, hi, false, NULL);
	g->alts[g->nalts].lo = lo;
	g->alts[g->nalts].hi = hi;
	g->nalts = (g->nalts + 1) % GUEST_ALTS;
}

CTP_HOOK int sigaltstack(const stack_t *restrict ss, stack_t *restrict old)
{
	int r = crash_stack_query(ss, old);
	struct thread_ctx *g = r == 0 && ss ? hook_enter() : NULL;
	if (!g)
		return r;
	uint64_t lo = ss->ss_flags & SS_DISABLE ? 0 : (uint64_t)ss->ss_sp;
	g->thread->alt_stack = lo;
	if (lo)
		alt_taken(g, lo, lo + ss->ss_size);
	guest_leave(g);
	return r;
}
