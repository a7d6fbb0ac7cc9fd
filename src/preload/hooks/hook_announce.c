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
#include "preload/coroutine/thread_ctx.h"
#include "preload/fds/fds.h"
#include "preload/guest/emit.h"
#include "preload/guest/modules.h"

_Static_assert(CTP_REASONS == CTP_WAITS_REASONS, "of the program's header, and of the region");

#define ANNOUNCE_INLINE static inline __attribute__((always_inline))

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

// What s leaves with, but for its stack. Its state is being written.
ANNOUNCE_INLINE void put_leave(struct ctp_state *s, const struct leaving *x, bool again, uint64_t now)
{
	uint16_t both = (uint16_t)(x->how | (again ? CTP_STATE_AGAIN << 8 : 0));
	memcpy((char *)s + STATE_HOW, &both, sizeof(both)); // one store, which both are loaded from
	s->last = (uint64_t)&stacks_none;
	s->regs[CTP_REG_SP] = x->f || s->entity == CTP_COROUTINE ? s->lo : 0;
	s->reason = (uint8_t)x->reason;
	s->late = 0;
	s->since = now;
}

ANNOUNCE_INLINE void put_run(const struct thread_ctx *g, struct ctp_state *s, uint64_t now)
{
	s->thread = g->slot;
	s->runs = 1;
	s->since = now;
}

ANNOUNCE_INLINE void runs_now(struct thread_ctx *g, struct ctp_state *s)
{
	g->thread->switches++;
	g->thread->current = s->id;
	g->current = s;
}

static void leave(struct thread_ctx *g, struct ctp_state *s, const struct leaving *x, uint64_t now)
{
	bool again = false;
	ctp_state_begin(s);
	if (x->f && x->life == CTP_SUSPENDED)
		again = name(g, s, x->f);
	else if (!announced_is(s) || x->life == CTP_FINISHED)
		s->stack = 0;
	put_leave(s, x, again, now);
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

static void pass(struct thread_ctx *g, struct ctp_state *to, const struct leaving *x)
{
	struct ctp_state *from = g->current;
	struct ctp_thread *t = g->thread;
	uint64_t now = emit_now();
	clock_close(g, now);
	if (CTP_UNLIKELY(t->wait_seq & 1)) // resumed inside a call that was taken for a wait
		ctp_store64(&t->wait_seq, t->wait_seq + 1);
	leave(g, from, x, now);
	if (CTP_UNLIKELY(to->nwaits || g->batch_fd >= 0))
		fds_resume(g, to);
	ctp_state_begin(to);
	put_run(g, to, now);
	ctp_state_end_change(to, CTP_RUNNING);
	emit_switch(g, &(struct emit_switch){now, from->id, from->changes, to->id, to->changes, x->how,
					     from->stack});
	runs_now(g, to);
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

// Is s the one that the program has these words for?
ANNOUNCE_INLINE bool is_of(const struct ctp_state *s, const struct ctp_coroutine *c)
{
	return s->id == c->id && announced_is(s) && state_private(s)->told == (uint64_t)c;
}

static struct ctp_state *known(const struct ctp_coroutine *c)
{
	struct ctp_state *s = announced_at(c->station);
	return s && c->id && is_of(s, c) ? s : NULL;
}

static struct ctp_state *find(struct thread_ctx *g, struct ctp_coroutine *c)
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

static inline unsigned reason_of(uint64_t how)
{
	unsigned reason = how >> 32 & 0xff;
	return reason < CTP_WAITS_REASONS ? reason : CTP_REASON_NONE;
}

static void note(struct thread_ctx *g, struct ctp_coroutine *c, unsigned what, uint64_t how,
		 const struct frame *f)
{
	if (what == CTP_COROUTINE_DESTROYED && !known(c))
		return;
	struct ctp_state *s = find(g, c);
	if (!s)
		return;
	switch (what) {
	case CTP_COROUTINE_RESUMED:
		resume(g, s);
		return;
	case CTP_COROUTINE_SUSPENDED:
		if (CTP_LIKELY(g->current == s) && (how >> 40))
			waits_for(g, (int)(uint32_t)how, (uint32_t)(how >> 40));
		suspend(g, s, &(struct leaving){CTP_SUSPENDED, CTP_HOW_SWAP, reason_of(how), f});
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

// ------------------------------------------------------------- as nearly always
// Nearly every event is one of two: one that is suspended is resumed, or one suspends that was resumed here,
// at a place where it has been before, and for what it waited for the time before, or no descriptor. Then all
// of it is written here, as above. Whatever is otherwise takes the way above, where all is looked at again:
// nothing has been written by then.

// With what s leaves. stack 0: it is not known here.
struct standing {
	uint32_t stack;
	bool elsewhere; // than the time before
	uint64_t link;
};

static __attribute__((noinline)) struct standing stands_elsewhere(const struct thread_ctx *g,
								  const struct ctp_state *s, uint64_t pc,
								  uint64_t sp, uint64_t fp)
{
	const struct candidate *met;
	if (coroutine_holds(s, sp)) {
		met = stacks_met(&(struct frame){pc, sp, fp}, coroutine_stack_top(g, s));
		return (struct standing){met ? met->stack : 0, true, s->link};
	}
	const struct ctp_state *by = awaiter(s);
	met = stacks_met_behind(pc, by ? by->stack : 0);
	return (struct standing){met ? met->stack : 0, true, by ? by->lo : 0};
}

// The one that runs, of the word `runs`, leaves for `to`, of the word `rests`, and then waits for so many.
ANNOUNCE_INLINE bool pass_quick(struct thread_ctx *g, struct ctp_state *to, uint64_t runs, uint64_t rests,
				const struct standing *at, const struct leaving *x, unsigned waits)
{
	struct ctp_state *from = g->current;
	struct ctp_thread *t = g->thread;
	uint64_t left = ctp_turn_next(runs, CTP_SUSPENDED, waits), now;
	uint64_t on = ctp_turn_next(rests, CTP_RUNNING, 0) | (rests & CTP_TURN_WAITS);
	struct emit_place p;
	if (!emit_place(g, to->id, on >> CTP_TURN_CHANGES, &p) || !clock_quick(g, from, to, &now))
		return false;
	emit_put(g, &p, now, x->how, at->stack, on >> CTP_TURN_CHANGES);
	bool again = x->f && (!at->elsewhere || from->stack == at->stack);
	ctp_state_begin_known(from);
	if (CTP_UNLIKELY(at->elsewhere)) {
		from->regs[CTP_REG_PC] = x->f->pc;
		from->link = at->link;
	}
	from->stack = at->stack;
	put_leave(from, x, again, now);
	ctp_state_end_known(from, left);
	ctp_state_begin_known(to);
	put_run(g, to, now);
	ctp_state_end_known(to, on);
	ctp_ring_publish(t, p.head + 1);
	t->switches++;
	t->current = to->id;
	g->current = to;
	return true;
}

ANNOUNCE_INLINE bool rests_plainly(const struct thread_ctx *g, const struct ctp_state *s, uint64_t rests)
{
	return CTP_LIKELY(ctp_turn_is(rests, CTP_SUSPENDED, 0)) ||
	       (ctp_turn_is(rests, CTP_SUSPENDED, 1) && fds_resumes_plainly(g, s));
}

ANNOUNCE_INLINE bool resume_quick(struct thread_ctx *g, const struct ctp_coroutine *c)
{
	struct ctp_state *from = g->current, *s = announced_shared(c->station);
	const struct leaving x = {CTP_SUSPENDED, CTP_HOW_SWAP, CTP_REASON_NONE, NULL};
	if (g->slice || !s || !is_of(s, c) || !from->id) // slice: something that one of the two must know
		return false;
	uint64_t runs = ctp_state_seen(from), rests = ctp_state_seen(s);
	const struct standing at = {announced_is(from) ? from->stack : 0, false, 0};
	if (!ctp_turn_is(runs & ~(uint64_t)CTP_TURN_WAITS, CTP_RUNNING, 0) || !rests_plainly(g, s, rests) ||
	    !pass_quick(g, s, runs, rests, &at, &x, 0))
		return false;
	state_private(s)->resumer = announced_hint(from);
	return true;
}

ANNOUNCE_INLINE bool suspend_quick(struct thread_ctx *g, const struct ctp_coroutine *c, uint64_t how,
				   const struct frame *f)
{
	struct ctp_state *s = g->current;
	if (g->slice || !is_of(s, c))
		return false;
	uint64_t resumer = state_private(s)->resumer;
	struct ctp_state *to = announced_shared(resumer >> CTP_ID_BITS);
	if (!to || to->id != (resumer & CTP_ID_MASK) || to->thread != g->slot)
		return false;
	bool waits = how >> 40;
	if (CTP_UNLIKELY(waits && !fds_waits_again(s, (int)(uint32_t)how, (uint32_t)(how >> 40))))
		return false;
	struct standing at = {s->stack, false, 0};
	if (CTP_UNLIKELY(s->regs[CTP_REG_PC] != f->pc || f->sp - s->lo <= s->hi - s->lo))
		at = stands_elsewhere(g, s, f->pc, f->sp, f->fp);
	uint64_t runs = ctp_state_seen(s), rests = ctp_state_seen(to);
	const struct leaving x = {CTP_SUSPENDED, CTP_HOW_SWAP, reason_of(how), f};
	return at.stack && ctp_turn_is(runs & ~(uint64_t)CTP_TURN_WAITS, CTP_RUNNING, 0) &&
	       rests_plainly(g, to, rests) && pass_quick(g, to, runs, rests, &at, &x, waits);
}

static __attribute__((noinline)) void note_slow(struct thread_ctx *g, struct ctp_coroutine *c, unsigned what,
						uint64_t how, const void *at, struct frame f)
{
	g = hook_enter_from(g);
	if (!g)
		return;
	if (what == CTP_COROUTINE_CREATED)
		make(g, c, at, &f);
	else
		note(g, c, what, how, &f);
	guest_leave(g);
}

static __attribute__((noinline)) void resumed(struct ctp_coroutine *c)
{
	struct thread_ctx *g = hook_try();
	if (CTP_LIKELY(g && resume_quick(g, c)))
		guest_leave(g);
	else
		note_slow(g, c, CTP_COROUTINE_RESUMED, 0, NULL, (struct frame){0});
}

// Neither errno nor vector registers change.
CTP_HOOK void ctp_coroutine_note(struct ctp_coroutine *c, unsigned what, uint64_t how, const void *at)
{
	if (what == CTP_COROUTINE_RESUMED) {
		resumed(c);
		return;
	}
	struct thread_ctx *g = hook_try();
	struct frame f;
	CPU_CALLER(&f);
	if (at && what != CTP_COROUTINE_CREATED)
		f.pc = (uint64_t)at;
	if (CTP_LIKELY(what == CTP_COROUTINE_SUSPENDED && g && suspend_quick(g, c, how, &f)))
		guest_leave(g);
	else
		note_slow(g, c, what, how, at, f);
}
