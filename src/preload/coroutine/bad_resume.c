// SPDX-License-Identifier: MIT
//
// CTP010 to CTP012: a switch into a coroutine that runs on another thread, that has ended, or
// whose stack was released. The switch path recognizes all three by one test of `life` and
// comes here, off the fast path, where it is checked whether it is really so. Programs that
// restart a generator from a saved context, or that copy stacks back, map them again or trim
// them, are correct and leave no incident.
#include "preload/coroutine/bad_resume.h"

#include <errno.h>
#include <sys/syscall.h>

#include "ctp/rules.h"
#include "preload/coroutine/coroutine.h"
#include "cpu.h"
#include "preload/guest/emit.h"
#include "preload/guest/exit.h"
#include "preload/coroutine/incident.h"
#include "preload/guest/page.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/stacks.h"

enum { TOP_WORDS = 32 };

extern const char ctp_coroutine_returned[] __attribute__((visibility("hidden")));

static bool readable(uint64_t lo, uint64_t hi)
{
	for (uint64_t page = lo / PAGE_BYTES; page * PAGE_BYTES < hi; page++)
		if (!page_readable(page))
			return false;
	return true;
}

static void note(struct thread_ctx *g, struct ctp_incident *i, const struct ctp_state *s)
{
	const struct ctp_state *from = g->current;
	i->flags |= (s->entity == CTP_NATIVE ? CTP_LATE_NATIVE : 0) |
		    (s->flags & CTP_STATE_SHARED_STACK ? CTP_LATE_SHARED : 0) |
		    ((s->flags | from->flags) & CTP_STATE_FOREIGN ? CTP_LATE_FOREIGN : 0);
	i->who = s->id;
	i->stack = from->stack;
	i->fd = -1;
	i->value[0] = s->changes;
	i->value[1] = from->id;
	incident_note(g, i);
}

// ------------------------------------------------------------- runs elsewhere

// The thread on which s runs; NULL if it does not after all. A thread that
// sleeps in a wait says itself where it stands.
static const struct ctp_thread *runs_on(const struct thread_ctx *g, const struct ctp_state *s)
{
	const struct ctp_thread *t =
		s->thread < ctp_tracer->region.threads_max ? &ctp_tracer->region.threads[s->thread] : NULL;
	if (!t || s->thread == g->slot || t->life != CTP_THREAD_LIVE || ctp_load64(&t->current) != s->id)
		return NULL;
	if (guest_syscall(SYS_tgkill, ctp_tracer->pid, t->tid, 0, 0, 0, 0))
		return NULL;
	uint64_t seq = ctp_load64(&t->wait_seq), sp = t->wait_regs[CTP_REG_SP];
	bool waits = (seq & 1) && ctp_wait_still(t, seq);
	return waits && s->lo != s->hi && !coroutine_holds(s, sp) ? NULL : t;
}

// Some of its switches were not seen: what is known to run there may have left by one of them.
static bool has_missed(const struct ctp_thread *t)
{
	return (ctp_load32(&ctp_tracer->region.ext->gaps) & CTP_GAP_BLIND) && ctp_load64(&t->lost);
}

static void running(struct thread_ctx *g, const struct ctp_state *s)
{
	const struct ctp_thread *t = runs_on(g, s);
	if (!t || has_missed(t))
		return;
	struct ctp_incident i = {.rule = RULE_RUNNING,
				 .other = g->current->id,
				 .other_stack = s->stack,
				 .other_time = s->since};
	i.flags = g->late.who == s && g->late.sp != s->regs[CTP_REG_SP] ? CTP_LATE_PLACE : 0;
	i.value[2] = t->tid;
	i.value[3] = g->tid;
	note(g, &i, s);
}

// ------------------------------------------------------------- ended

// Its function's return address is on its stack still, where the code behind
// its return has put another: so a copy of the stack has been put back.
static bool put_back(const struct ctp_state *s)
{
	uint64_t top = s->hi & ~7ULL, at = top - TOP_WORDS * 8;
	if (!CPU_RETURNS_BY_STACK || !readable(at, top))
		return false;
	while (at < top && *(const uint64_t *)at != (uint64_t)ctp_coroutine_returned)
		at += 8;
	return at < top;
}

// Whether it is the place where it suspended last, from which it went on to its end. One that
// was saved by getcontext or setjmp may be meant to be gone back to.
static bool stale_place(const struct thread_ctx *g, const struct ctp_state *s)
{
	if (g->late.who != s)
		return false;
	if (s->how == CTP_HOW_RETURN)
		return g->late.sp == s->regs[CTP_REG_SP] && g->late.pc == s->regs[CTP_REG_PC];
	return g->late.slot == s->slot && s->slot &&
	       (state_private(s)->before == CTP_HOW_SWAP || state_private(s)->before == CTP_HOW_FCONTEXT ||
		state_private(s)->before == CTP_HOW_ONTOP);
}

static void ended(struct thread_ctx *g, const struct ctp_state *s)
{
	bool returned = s->how == CTP_HOW_RETURN;
	if (!stale_place(g, s) || (returned && put_back(s)))
		return;
	struct ctp_incident i = {.rule = RULE_ENDED, .other_time = s->since, .other = g->current->id};
	bool anew = stack_index_stack(g->late.sp) != s || !CPU_RETURNS_BY_STACK;
	i.flags = (anew ? CTP_LATE_ANEW : 0) | (returned ? 0 : CTP_LATE_GONE);
	note(g, &i, s);
}

// ------------------------------------------------------------- without a stack

// Mapped again, with what it had left there: its frames are those with which it left.
static bool mapped_again(const struct ctp_state *s, uint64_t sp)
{
	struct frame f = {s->regs[CTP_REG_PC], s->regs[CTP_REG_SP], s->regs[CTP_REG_FP]};
	return !(state_private(s)->release_at & RELEASED_BLOCK) && readable(sp, s->hi) && s->stack &&
	       stacks_id(&f, state_private(s)->top, NULL) == s->stack;
}

static void released(struct thread_ctx *g, const struct ctp_state *s)
{
	bool never = (state_private(s)->before & 0xff) == CTP_CREATED;
	uint64_t sp = never ? s->hi - 8 : s->regs[CTP_REG_SP];
	if (s->how != CTP_HOW_RELEASED || sp < state_private(s)->release_lo ||
	    sp >= state_private(s)->release_hi)
		return;
	bool gone = !readable(sp, sp + 8);
	if (!gone && (never ? !(state_private(s)->release_at & RELEASED_BLOCK) : mapped_again(s, sp)))
		return;
	struct ctp_incident i = {.rule = RULE_RELEASED,
				 .other = state_private(s)->release_by,
				 .other_stack = (uint32_t)state_private(s)->release_at,
				 .other_time = s->since,
				 .flags = (gone ? CTP_LATE_GONE : 0) | (never ? CTP_LATE_NEVER : 0)};
	i.value[2] = state_private(s)->release_lo;
	i.value[3] = state_private(s)->release_hi;
	note(g, &i, s);
}

// ------------------------------------------------------------- all of them

// Its bookkeeping goes back to where it was.
static void lives_again(struct thread_ctx *g, struct ctp_state *s)
{
	if (s->entity == CTP_COROUTINE && s->life == CTP_FINISHED)
		g->thread->finished--;
	else if (s->entity == CTP_COROUTINE)
		g->thread->destroyed--;
	ctp_state_begin(s);
	s->flags &= ~CTP_STATE_STACK_FREED;
	ctp_state_end(s);
}

__attribute__((noinline)) void bad_resume_find(struct thread_ctx *g, struct ctp_state *s)
{
	if (s->life == CTP_RUNNING) {
		emit_unsure(g, s->thread);
		running(g, s);
	} else if (s->entity == CTP_COROUTINE && s->life == CTP_FINISHED) {
		ended(g, s);
	} else if (s->entity == CTP_COROUTINE) {
		released(g, s);
	}
	g->late.who = NULL;
	if (s->life != CTP_RUNNING)
		lives_again(g, s);
}

void bad_resume_announced(struct thread_ctx *g, const struct ctp_state *s)
{
	struct ctp_incident i = {.rule = RULE_ENDED, .other_time = s->since, .other = g->current->id};
	g->late.who = NULL;
	if (s->life == CTP_RUNNING) {
		emit_unsure(g, s->thread);
		running(g, s);
	} else if (s->life == CTP_FINISHED) {
		note(g, &i, s);
	}
}
