// SPDX-License-Identifier: MIT
//
// Coroutines that the program itself tells of (include/ctp/coroutine.h, coroutine.hpp): C++20's, which have
// no stack, and those whose switches no hook sees. A resumption is a switch from whoever runs to the
// coroutine, its suspension or end a switch back to who resumed it. So they have states, numbers, records and
// waits as all others do. What differs: their memory is a frame, or a stack that somebody else switches to;
// the stack on which they run, and on which hooks are called, may be the resumer's. The resumer counts as
// suspended meanwhile, without a place to which its stack could be dead (its SP is 0, or its stack's end):
// what runs above it is alive.
//
// A coroutine is found by the words that the program keeps for it (struct ctp_coroutine). They are a hint,
// which counts if the state agrees: after a fork, or if they are garbage, the coroutine is discovered anew.
#include <ctp/coroutine.h>

#include "cpu.h"
#include "preload/coroutine/announced.h"
#include "preload/coroutine/bad_resume.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/stacks.h"
#include "preload/coroutine/station.h"
#include "preload/fds/fds.h"
#include "preload/guest/emit.h"
#include "preload/guest/modules.h"

_Static_assert(CTP_REASONS == CTP_WAITS_REASONS, "of the program's header, and of the region");

enum { PROMISE_WORDS = 64 };

// ------------------------------------------------------------- where it stands

// Who awaits s: it made s, and s's promise has the address of its frame. (The frame's words, which s's own
// code has written.)
static const struct ctp_state *awaiter(const struct ctp_state *s)
{
	const struct ctp_state *maker = announced_of(state_private(s)->maker);
	uint64_t words = state_private(s)->promise;
	if (!maker || !words || !announced_is(maker) || maker->life != CTP_SUSPENDED || maker == s)
		return NULL;
	const uint64_t *at = (const uint64_t *)(s->lo + (words >> 32));
	for (uint32_t i = 0; i < (uint32_t)words; i++)
		if (at[i] == maker->lo)
			return maker;
	return NULL;
}

struct place {
	uint64_t pc;
	const struct ctp_state *awaiter;
};

static uint64_t name_place(void *arg)
{
	const struct place *p = arg;
	return stacks_behind(p->pc, p->awaiter ? p->awaiter->stack : 0);
}

// The stack of s, which is about to leave by a call from f. Its own one is walked; of a frame it is the
// place, and those of who awaits it. True: as the time before.
static bool name(struct thread_ctx *g, struct ctp_state *s, const struct frame *f)
{
	if (s->lo < s->hi && coroutine_holds(s, f->sp)) {
		s->regs[CTP_REG_PC] = f->pc;
		uint32_t before = s->stack;
		s->stack = guest_stack(g, f);
		return s->stack == before;
	}
	if (CTP_LIKELY(s->stack && s->regs[CTP_REG_PC] == f->pc))
		return true;
	struct place p = {f->pc, awaiter(s)};
	modules_note_pc(f->pc);
	s->regs[CTP_REG_PC] = f->pc;
	s->link = p.awaiter ? p.awaiter->lo : 0;
	s->stack = (uint32_t)(cpu_is_private(g) ? name_place(&p) : cpu_on_private(g, name_place, &p));
	return false;
}

// ------------------------------------------------------------- switches

struct leaving {
	enum ctp_life life;
	enum ctp_how how;
	unsigned reason;
	const struct frame *f; // NULL: it has resumed another one, and stands where it stood
};

static inline __attribute__((always_inline)) void leave(struct thread_ctx *g, struct ctp_state *s,
							const struct leaving *x, uint64_t now)
{
	bool again = false;
	ctp_state_begin(s);
	if (x->f && x->life == CTP_SUSPENDED)
		again = name(g, s, x->f);
	else if (!announced_is(s))
		s->stack = 0;
	if (x->life == CTP_FINISHED)
		s->stack = 0;
	s->last = (uint64_t)&stacks_none;
	s->regs[CTP_REG_SP] = s->entity == CTP_COROUTINE ? s->lo : 0;
	s->how = x->how;
	s->reason = (uint8_t)x->reason;
	s->flags = (s->flags & ~CTP_STATE_OF_LEAVE) | (again ? CTP_STATE_AGAIN : 0);
	s->since = now;
	if (CTP_UNLIKELY(s->nwaits)) // it shares a word with what is loaded as one below: storing part of it
				     // stalls
		s->nwaits = 0;
	if (CTP_UNLIKELY(g->slice) && x->life == CTP_SUSPENDED)
		fds_suspend(g, s);
	ctp_state_end_change(s, x->life);
	if (x->life == CTP_FINISHED) {
		coroutine_count_death(g, s, CTP_FINISHED);
		station_retire(s);
	}
}

static inline __attribute__((always_inline)) void pass(struct thread_ctx *g, struct ctp_state *to,
						       const struct leaving *x)
{
	struct ctp_state *from = g->current;
	struct ctp_thread *t = g->thread;
	uint64_t now = emit_now();
	if (CTP_UNLIKELY(t->wait_seq & 1)) // resumed inside a call that was taken for a wait
		ctp_store64(&t->wait_seq, t->wait_seq + 1);
	leave(g, from, x, now);
	if (CTP_UNLIKELY(to->nwaits || g->batch_fd >= 0))
		fds_resume(g, to);
	ctp_state_begin(to);
	to->thread = g->slot;
	to->runs = 1;
	to->since = now;
	ctp_state_end_change(to, CTP_RUNNING);
	emit_switch(g, &(struct emit_switch){now, from->id, from->changes, to->id, to->changes, x->how,
					     from->stack});
	t->switches++;
	t->current = to->id;
	g->current = to;
	g->slice = g->slice_fresh;
	g->saved_slot = g->kept_slot = 0;
	g->batch_fd = -1;
}

static void resume(struct thread_ctx *g, struct ctp_state *s)
{
	if (g->current == s)
		return;
	if (!g->current->id)
		coroutine_name_native(g);
	if (CTP_UNLIKELY(s->life >= CTP_RUNNING)) {
		bad_resume_announced(g, s);
		if (s->life != CTP_RUNNING)
			return;
	}
	state_private(s)->resumer = announced_hint(g->current);
	pass(g, s, &(struct leaving){CTP_SUSPENDED, CTP_HOW_SWAP, CTP_REASON_NONE, NULL});
}

// Who resumed s, if it may go on here.
static struct ctp_state *resumer(struct thread_ctx *g, const struct ctp_state *s)
{
	struct ctp_state *to = announced_of(state_private(s)->resumer);
	bool here = to && to->life == CTP_SUSPENDED && to->thread == g->slot && to != s;
	return here ? to : g->native;
}

// Whether s is below who runs here: it resumed that one, or who resumed that one.
static bool is_below(const struct thread_ctx *g, const struct ctp_state *s)
{
	const struct ctp_state *at = g->current;
	for (unsigned i = 0; at && announced_is(at) && i < ANNOUNCED_NESTED; i++) {
		at = announced_of(state_private(at)->resumer);
		if (at == s)
			return true;
	}
	return false;
}

// s leaves. Should another be taken for the one that runs here, the program has not told that it left.
static void suspend(struct thread_ctx *g, struct ctp_state *s, const struct leaving *x)
{
	struct leaving missed = {CTP_SUSPENDED, CTP_HOW_SWAP, CTP_REASON_NONE, NULL};
	if (CTP_UNLIKELY(g->current != s)) {
		if (s->life >= CTP_FINISHED || (s->life == CTP_RUNNING && s->thread != g->slot))
			return;
		if (is_below(g, s))
			pass(g, s, &missed);
		else
			resume(g, s);
	}
	pass(g, resumer(g, s), x);
}

// ------------------------------------------------------------- the program's calls

static struct ctp_state *make(struct thread_ctx *g, struct ctp_coroutine *c,
			      const struct ctp_coroutine_made *m, const struct frame *f)
{
	struct ctp_state *s = station_new(CTP_COROUTINE);
	if (!s)
		return NULL;
	uint64_t lo = (uint64_t)c->memory;
	ctp_state_begin(s);
	s->source = CTP_SOURCE_PROGRAM;
	s->life = CTP_CREATED;
	s->thread = g->slot;
	s->lo = s->slot = lo;
	s->hi = lo + c->bytes;
	s->entry = m ? (uint64_t)m->entry : 0;
	state_private(s)->told = (uint64_t)c;
	s->creator = guest_who(g);
	s->made = g->thread->turns | (uint64_t)g->slot << 48;
	s->creator_stack = f ? guest_stack(g, f) : 0;
	s->flags |= f ? 0 : CTP_STATE_FOREIGN;
	s->regs[CTP_REG_SP] = lo;
	s->regs[CTP_REG_PC] = s->entry;
	state_private(s)->maker = g->current->id ? announced_hint(g->current) : 0;
	uint64_t promise = m ? (uint64_t)m->promise : 0, words = m ? m->promise_bytes / 8 : 0;
	if (promise >= lo && promise - lo < 1 << 16)
		state_private(s)->promise = (promise - lo) << 32 |
					    (words < PROMISE_WORDS ? words : PROMISE_WORDS);
	ctp_state_end(s);
	coroutine_note_any();
	coroutine_index(g, s);
	modules_note_pc(s->entry);
	g->thread->created++;
	ctp_add32(&ctp_tracer->region.sites[s->creator_stack].created, 1);
	emit(g, ctp_w1(CTP_EV_CREATE, 0, s->id), ctp_w2(s->creator, s->creator_stack), s->entry);
	c->station = s->station;
	c->id = s->id;
	return s;
}

static inline __attribute__((always_inline)) struct ctp_state *known(const struct ctp_coroutine *c)
{
	const struct ctp_region *r = &ctp_tracer->region;
	struct ctp_state *s = CTP_LIKELY(c->station < r->stations_max) ? &r->states[c->station] :
									 announced_private(c->station);
	bool same = s && c->id && s->id == c->id && announced_is(s);
	return CTP_LIKELY(same && state_private(s)->told == (uint64_t)c) ? s : NULL;
}

static inline __attribute__((always_inline)) struct ctp_state *find(struct thread_ctx *g,
								    struct ctp_coroutine *c)
{
	struct ctp_state *s = known(c);
	return CTP_LIKELY(s) ? s : make(g, c, NULL, NULL);
}

static void waits_for(struct thread_ctx *g, int fd, uint32_t events)
{
	uint32_t gen = fd >= 0 && g->fds_max ? fds_open_gen(g, fd) : 0;
	if (!gen || g->nwaits == CTP_WAITS)
		return;
	g->waits[g->nwaits++] = (struct ctp_wait){
		.fd = fd, .gen = gen, .epfd = -1, .events = events, .how = CTP_WAIT_DECLARED};
}

static void destroy(struct thread_ctx *g, struct ctp_state *s)
{
	if (g->current == s || is_below(g, s)) { // in the middle of its run: it ends
		suspend(g, s, &(struct leaving){CTP_FINISHED, CTP_HOW_RETURN, CTP_REASON_NONE, NULL});
		return;
	}
	state_private(s)->release_lo = s->lo;
	state_private(s)->release_hi = s->hi;
	if (s->life == CTP_CREATED || s->life == CTP_SUSPENDED)
		coroutine_destroy(g, s, CTP_HOW_RELEASED, ctp_state_seen(s));
}

static void note(struct thread_ctx *g, struct ctp_coroutine *c, unsigned what, uint64_t how,
		 const struct frame *f)
{
	if (what == CTP_COROUTINE_DESTROYED && !known(c))
		return;
	struct ctp_state *s = find(g, c);
	unsigned reason = (how >> 32 & 0xff) < CTP_WAITS_REASONS ? how >> 32 & 0xff : CTP_REASON_NONE;
	if (!s)
		return;
	switch (what) {
	case CTP_COROUTINE_RESUMED:
		resume(g, s);
		return;
	case CTP_COROUTINE_SUSPENDED:
		if (CTP_LIKELY(g->current == s) && (how >> 40))
			waits_for(g, (int)(uint32_t)how, (uint32_t)(how >> 40));
		suspend(g, s, &(struct leaving){CTP_SUSPENDED, CTP_HOW_SWAP, reason, f});
		return;
	case CTP_COROUTINE_ENDED:
		if (s->life < CTP_FINISHED)
			suspend(g, s, &(struct leaving){CTP_FINISHED, CTP_HOW_RETURN, CTP_REASON_NONE, NULL});
		return;
	case CTP_COROUTINE_DESTROYED:
		destroy(g, s);
		return;
	default:
		return;
	}
}

// Neither errno nor vector registers change.
CTP_HOOK void ctp_coroutine_note(struct ctp_coroutine *c, unsigned what, uint64_t how, const void *at)
{
	struct thread_ctx *g = hook_enter();
	struct frame f;
	if (!g)
		return;
	CPU_CALLER(&f);
	if (what == CTP_COROUTINE_CREATED) {
		make(g, c, at, &f);
	} else {
		if (at)
			f.pc = (uint64_t)at;
		note(g, c, what, how, &f);
	}
	guest_leave(g);
}
