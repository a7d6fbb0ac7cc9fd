// SPDX-License-Identifier: MIT
//
// Which coroutine is outgoing and which is incoming at a switch. An address maps to a
// coroutine by save slot and by stack range; either alone is ambiguous: the stack where many
// coroutines are copied through one stack, the slot where slots are reused. The slot decides
// if its owner saved itself there last and the saved stack pointer lies in the owner's stack;
// otherwise the stack decides (who loses a stack to another: release.c). A switch is recorded
// before it happens, by the thread that makes it.
#include "preload/coroutine/coroutine.h"

#include "preload/coroutine/blocks.h"
#include "cpu.h"
#include "preload/coroutine/crash.h"
#include "preload/guest/emit.h"
#include "preload/coroutine/bad_resume.h"
#include "preload/guest/modules.h"
#include "preload/coroutine/release.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/stacks.h"
#include "preload/coroutine/station.h"
#include "preload/guest/v1.h"

static bool any;

bool coroutine_any(void)
{
	return any;
}

// Gives the thread's own stack a station and an id: it is about to switch.
void coroutine_name_native(struct thread_ctx *g)
{
	struct ctp_state *s = station_new(CTP_NATIVE);
	if (!s)
		return;
	ctp_state_begin(s);
	s->life = CTP_RUNNING;
	s->thread = g->slot;
	s->hi = g->native_top;
	s->runs = 1;
	ctp_state_end(s);
	g->current = g->native = s;
	g->thread->native = g->thread->current = s->id;
	emit(g, ctp_w1(CTP_EV_THREAD, 0, s->id), 0, g->tid);
	crash_stack_arm(g);
}

void coroutine_count_death(struct thread_ctx *g, struct ctp_state *s, enum ctp_life life)
{
	if (s->entity != CTP_COROUTINE)
		return;
	ctp_add32(&ctp_tracer->region.sites[s->creator_stack].ended, 1);
	if (life == CTP_FINISHED)
		g->thread->finished++;
	else
		g->thread->destroyed++;
	struct ctp_station *shared = station_shared(s);
	if (shared)
		shared->is_dead = 1;
}

void coroutine_note_any(void)
{
	any = true;
}

void coroutine_index(struct thread_ctx *g, struct ctp_state *s)
{
	if (s->lo < s->hi)
		release_claim(g, s);
	stack_index_add_slot(s);
}

bool coroutine_native_has(const struct thread_ctx *g, uint64_t sp)
{
	return sp <= g->native_top && g->native_top - sp < COROUTINE_NATIVE_REACH;
}

// The bounds of a discovered stack: known if a signal handler ran on it.
static bool born_on_alt(const struct thread_ctx *g, uint64_t sp, uint64_t *lo, uint64_t *hi)
{
	for (unsigned i = 0; i < GUEST_ALTS; i++) {
		if (sp <= g->alts[i].lo || sp > g->alts[i].hi)
			continue;
		*lo = g->alts[i].lo;
		*hi = g->alts[i].hi;
		return true;
	}
	return false;
}

// Met, not made: a context that came about in a way nobody saw, or that a
// signal handler left behind on its alternate stack.
static struct ctp_state *meet(struct thread_ctx *g, const struct target *t)
{
	struct ctp_state *s = station_new(CTP_COROUTINE);
	if (!s)
		return g->native;
	any = true;
	ctp_state_begin(s);
	s->flags |= CTP_STATE_FOREIGN;
	s->life = CTP_SUSPENDED;
	s->slot = t->slot;
	s->entry = t->pc;
	s->creator = guest_who(g);
	s->regs[CTP_REG_PC] = t->pc;
	s->regs[CTP_REG_SP] = t->sp;
	bool known = born_on_alt(g, t->sp, &s->lo, &s->hi);
	ctp_state_end(s);
	if (known)
		release_claim(g, s);
	else
		g->thread->unknown++;
	stack_index_add_slot(s);
	g->thread->created++;
	modules_note_pc(t->pc);
	emit(g, ctp_w1(CTP_EV_CREATE, 0, s->id), ctp_w2(s->creator, 0), s->entry);
	return s;
}

static bool is_dead(const struct ctp_state *s)
{
	return s->life == CTP_FINISHED || s->life == CTP_DESTROYED;
}

// Entered where `t` says. Should it run or live no more, it is of interest where (bad_resume.c).
static struct ctp_state *found(struct thread_ctx *g, struct ctp_state *s, const struct target *t)
{
	if (s->life >= CTP_RUNNING) {
		g->late.who = s;
		g->late.sp = t->sp;
		g->late.pc = t->pc;
		g->late.slot = t->slot;
	}
	return s;
}

struct ctp_state *coroutine_find_slow(struct thread_ctx *g, const struct target *t)
{
	struct ctp_state *s = stack_index_slot(t->slot), *there = stack_index_stack(t->sp);
	if (!s && there && there->slot == t->slot) // a page with more slots than the map has room for
		s = there;
	handle_cache_note(g, t->slot, s);
	// Where the bounds say nothing, or it left from a signal's stack: the very same place. (If it stands
	// on its own stack, it was taken for another that left there, as a switch was missed.)
	bool stands = s && s == g->current && coroutine_holds(s, g->regs[CTP_REG_SP]);
	if (s && (coroutine_holds(s, t->sp) || s->lo == s->hi || (s->regs[CTP_REG_SP] == t->sp && !stands))) {
		if (CTP_UNLIKELY(s->life == CTP_DESTROYED && s->how == CTP_HOW_REUSED))
			release_revive(g, s);
		else if (is_dead(s) && there &&
			 !is_dead(there)) // it has its memory, even where it saved itself
			return there;
		return found(g, s, t);
	}
	if (there)
		return found(g, there, t);
	if (coroutine_native_has(g, t->sp))
		return g->native;
	return meet(g, t);
}

struct ctp_state *coroutine_make(struct thread_ctx *g, uint64_t lo, uint64_t hi, uint64_t entry,
				 uint64_t slot)
{
	struct ctp_state *s = station_new(CTP_COROUTINE);
	if (!s)
		return NULL;
	struct frame f = {g->regs[CTP_REG_PC], g->regs[CTP_REG_SP], g->regs[CTP_REG_FP]};
	uint64_t head = ctp_ring_head(g->thread);
	ctp_state_begin(s);
	s->life = CTP_CREATED;
	s->thread = g->slot;
	s->lo = lo;
	s->hi = hi;
	s->entry = entry;
	s->slot = slot;
	s->creator = guest_who(g);
	s->made = g->thread->turns | (uint64_t)g->slot << 48;
	s->creator_stack = guest_stack(g, &f);
	s->regs[CTP_REG_SP] = hi;
	s->regs[CTP_REG_PC] = entry;
	blocks_find(lo, hi, &s->block_lo, &s->block_hi);
	ctp_state_end(s);
	any = true;
	coroutine_index(g, s);
	modules_note_pc(entry);
	g->thread->created++;
	ctp_add32(&ctp_tracer->region.sites[s->creator_stack].created, 1);
	// Where its stack was another's, that one's end comes first.
	uint64_t now = ctp_ring_head(g->thread) == head ? s->created : guest_now();
	emit_at(g, now, ctp_w1(CTP_EV_CREATE, 0, s->id), ctp_w2(s->creator, s->creator_stack), entry);
	return s;
}

// Where it saves itself now. Who enters it there finds it at the first look.
static void take_slot(struct thread_ctx *g, struct ctp_state *s, uint64_t slot)
{
	if (s->slot == slot)
		return;
	s->slot = slot;
	stack_index_add_slot(s);
	handle_cache_note(g, slot, s);
}

static inline void keep_registers(struct ctp_state *s, const uint64_t *regs)
{
#pragma GCC unroll 8
	for (int i = 0; i < CTP_REGS; i++)
		s->regs[i] = regs[i];
}

// Has the function of a Boost coroutine returned? Then the entry function, alone on the stack, makes the last
// jump itself, by ontop_fcontext: what runs on top of the incoming context releases the stack, or keeps it
// for another coroutine. It finds the stack by the record above it, which is the jump's argument. (Where the
// function was inlined into the entry, the argument may point into the stack instead.)
static bool has_returned(const struct thread_ctx *g, const struct ctp_state *s, enum ctp_how how)
{
	enum {
		FRAMES = 2,
		ENTRY_BYTES = 1 << 14,
		ABOVE = 4096
	}; // the entry, and what make_fcontext put under it
	uint64_t pc = 0;
	bool record = how == CTP_HOW_ONTOP && s->entity == CTP_COROUTINE && g->handed - s->hi < ABOVE;
	uint32_t n = record ? stacks_frames(s->stack, &pc) : 0;
	return n && n <= FRAMES && pc - s->entry < ENTRY_BYTES;
}

// It has gone on from where it stood when it left last.
static void note_resumed(const struct ctp_state *s)
{
	struct ctp_site *site = &ctp_tracer->region.sites[s->stack];
	if (s->stack && !site->resumed)
		site->resumed = 1;
}

static __attribute__((noinline)) void name_anew(const struct thread_ctx *g, struct ctp_state *s,
						const struct frame *f)
{
	bool unknown = s->lo == s->hi && s->hi - f->sp < COROUTINE_NATIVE_REACH; // its lower end
	note_resumed(s);
	s->last = (uint64_t)&stacks_none;
	s->stack = 0;
	state_private(s)->other_sp = 0;
	if (s->entity == CTP_COROUTINE && (f->sp > s->hi || (f->sp < s->lo && !unknown)))
		return; // it leaves from another's, a signal's
	state_private(s)->top = coroutine_stack_top(g, s);
	s->stack = stacks_id(f, state_private(s)->top, &s->last);
}

// Names the stack with which s leaves. True: the same as the time before.
static inline bool name_stack(const struct thread_ctx *g, struct ctp_state *s)
{
	struct frame f = {s->regs[CTP_REG_PC], s->regs[CTP_REG_SP], s->regs[CTP_REG_FP]};
	if (CTP_LIKELY(stacks_again(&f, state_private(s)->top, s->last)))
		return true;
	name_anew(g, s, &f);
	return false;
}

// s has saved itself there as well: whoever did before has lost it.
static __attribute__((noinline)) void overwritten(const struct ctp_state *s, uint64_t slot)
{
	struct ctp_state *old = stack_index_slot(slot);
	if (old && old != s)
		old->slot = 0;
}

static inline bool kept(enum ctp_how how) // saved before it left
{
	return how == CTP_HOW_SET || how == CTP_HOW_JUMP;
}

// Writes down that `s` leaves. The registers are those of the save.
static inline __attribute__((always_inline)) void leave(struct thread_ctx *g, struct ctp_state *s,
							enum ctp_how how, uint64_t slot, uint64_t now)
{
	bool ends = how == CTP_HOW_GONE || how == CTP_HOW_RETURN, again = false;
	if (CTP_UNLIKELY(g->saved_slot && g->saved_slot != slot))
		overwritten(s, g->saved_slot);
	if (!ends)
		take_slot(g, s, slot);
	ctp_state_begin(s);
	if (CTP_UNLIKELY(ends))
		note_resumed(s);
	if (how == CTP_HOW_RETURN) {
		s->stack = 0;
		s->last = (uint64_t)&stacks_none;
	} else {
		keep_registers(s, kept(how) ? g->saved : g->regs);
		again = name_stack(g, s);
	}
	if (ends)
		state_private(s)->before = s->how;
	s->how = how;
	s->flags = (s->flags & ~CTP_STATE_OF_LEAVE) | (again ? CTP_STATE_AGAIN : 0);
	s->since = now;
	s->late = 0;
	s->nwaits = 0;
	if (CTP_UNLIKELY(g->slice) && !ends) {
		if (has_returned(g, s, how))
			g->nwaits = g->eagain = g->more_waits = 0; // it waits for nothing any more
		fds_suspend(g, s);
	}
	ctp_state_end_change(s, ends ? CTP_FINISHED : CTP_SUSPENDED);
	if (ends && s->entity == CTP_COROUTINE) {
		coroutine_count_death(g, s, CTP_FINISHED);
		station_retire(s);
	}
}

static inline void go_on(struct thread_ctx *g, struct ctp_state *s, uint64_t now)
{
	if (CTP_UNLIKELY(s->nwaits || g->batch_fd >= 0))
		fds_resume(g, s);
	if (CTP_UNLIKELY(s->life >= CTP_RUNNING))
		bad_resume_find(g, s);
	ctp_state_begin(s);
	s->thread = g->slot;
	s->runs = 1;
	s->since = now;
	ctp_state_end_change(s, CTP_RUNNING);
}

void coroutine_missed(struct thread_ctx *g)
{
	ctp_add64(g->lost, 1);
	ctp_or32(g->gaps, CTP_GAP_BLIND);
}

static __attribute__((noinline)) void v1_switch(struct thread_ctx *g, struct ctp_state *from,
						struct ctp_state *to)
{
	v1_change(g, station_shared(from), from->changes, from->regs[CTP_REG_PC], false);
	v1_change(g, station_shared(to), to->changes,
		  to->changes == 1 && to->entity == CTP_COROUTINE ? to->entry : to->regs[CTP_REG_PC], true);
}

static inline __attribute__((always_inline)) void pass(struct thread_ctx *g, struct ctp_state *to,
						       enum ctp_how how, uint64_t slot)
{
	if (CTP_UNLIKELY(!g->current->id)) {
		bool own = to == g->native;
		coroutine_name_native(g);
		if (own)
			to = g->native;
	}
	struct ctp_state *from = g->current;
	if (CTP_UNLIKELY(from == to)) { // onto its own stack: no switch
		if (CTP_UNLIKELY(from->lo != from->hi && !coroutine_holds(from, g->regs[CTP_REG_SP])))
			coroutine_missed(g); // by a signal's handler between a switch's record and the
					     // switch: another left
		else if (how == CTP_HOW_SWAP)
			take_slot(g, from, slot);
		return;
	}
	struct ctp_thread *t = g->thread;
	if (CTP_UNLIKELY(t->wait_seq & 1)) // the library switches inside a call that we took for a wait
		ctp_store64(&t->wait_seq, t->wait_seq + 1);
	uint64_t now = emit_now();
	clock_close(g, now);
	leave(g, from, how, slot, now);
	go_on(g, to, now);
	if (CTP_LIKELY(!ctp_tracer->v1))
		emit_switch(g, &(struct emit_switch){now, from->id, from->changes, to->id, to->changes, how,
						     from->stack});
	else
		v1_switch(g, from, to);
	t->switches++;
	t->current = to->id;
	g->current = to;
	g->slice = g->slice_fresh;
	g->saved_slot = g->kept_slot = 0;
	g->batch_fd = -1;
}

void coroutine_switch(struct thread_ctx *g, struct ctp_state *to, enum ctp_how how, uint64_t slot)
{
	if (how == CTP_HOW_SWAP) // copies of their own: the ways of nearly every switch
		pass(g, to, CTP_HOW_SWAP, slot);
	else if (how == CTP_HOW_FCONTEXT)
		pass(g, to, CTP_HOW_FCONTEXT, slot);
	else
		pass(g, to, how, slot);
}

// A save counts while the function that made it has not returned.
static bool saved_is_good(const struct thread_ctx *g)
{
	const struct ctp_state *s = g->current;
	uint64_t saved = g->saved[CTP_REG_SP], now = g->regs[CTP_REG_SP];
	bool both = s->entity == CTP_COROUTINE ?
			    coroutine_holds(s, saved) && coroutine_holds(s, now) :
			    coroutine_native_has(g, saved) && coroutine_native_has(g, now);
	return g->saved_slot && (!both || saved >= now);
}

void coroutine_leave(struct thread_ctx *g, struct ctp_state *to, enum ctp_how how)
{
	if (saved_is_good(g))
		pass(g, to, how, g->saved_slot);
	else
		pass(g, to, CTP_HOW_GONE, 0);
}

// The running coroutine ends here, and nobody goes on.
static void ends(struct thread_ctx *g, enum ctp_how how)
{
	struct ctp_state *s = g->current;
	uint64_t now = guest_now();
	clock_close(g, now);
	leave(g, s, how, 0, now);
	emit(g, ctp_w1(CTP_EV_FINISH, how, s->id), 0, 0);
}

void coroutine_ends(struct thread_ctx *g)
{
	ends(g, CTP_HOW_RETURN);
}

struct near {
	uint64_t data;
	struct ctp_state *above, *below;
};

static void nearest(struct ctp_state *s, void *arg)
{
	struct near *n = arg;
	if (s->entity != CTP_COROUTINE || s->life == CTP_FINISHED || s->life == CTP_DESTROYED)
		return;
	if (s->slot >= n->data && (!n->above || s->slot < n->above->slot))
		n->above = s;
	if (s->slot < n->data && (!n->below || s->slot > n->below->slot))
		n->below = s;
}

struct ctp_state *coroutine_search(uint64_t data)
{
	enum { BEFORE = 2048, AFTER = 4096 }; // a control block is not larger, as a rule
	if (!any)
		return NULL;
	struct ctp_state *s = stack_index_stack(data);
	if (s && s->entity == CTP_COROUTINE && s->life != CTP_FINISHED)
		return s;
	struct near n = {.data = data};
	stack_index_range(data - BEFORE, data + AFTER, true, nearest, &n);
	if (n.above && n.above->slot - data < AFTER)
		return n.above;
	return n.below && data - n.below->slot < BEFORE ? n.below : NULL;
}

void coroutine_thread_ends(struct thread_ctx *g)
{
	struct ctp_state *s = g->native;
	clock_close(g, guest_now());
	if (g->current->entity == CTP_COROUTINE) // pthread_exit inside it: its frames are gone
		ends(g, CTP_HOW_GONE);
	if (s->id && s->life != CTP_FINISHED) {
		ctp_state_begin(s);
		s->life = CTP_FINISHED;
		s->since = guest_now();
		ctp_state_end(s);
		station_retire(s);
	}
}
