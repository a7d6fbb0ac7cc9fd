// SPDX-License-Identifier: MIT
//
// Entities that lose their stack: it is given back, wiped, or becomes another's. A new stack
// that overlaps an old one replaces the old stack's owner. If the old owner is entered later all
// the same, stacks there are shared by copying, and no owner is replaced there any more. Whoever
// writes an entity's state meanwhile knows better: nothing is done then (`ctp_state_take`).
#include "preload/coroutine/release.h"

#include "preload/guest/emit.h"
#include "preload/coroutine/bad_resume.h"
#include "preload/coroutine/coroutine.h"
#include "preload/coroutine/stack_index.h"
#include "preload/coroutine/station.h"

#define RELEASE_ASKED (1ULL << 33)
// A piece of memory that changes hands.
struct release {
	struct thread_ctx *g;
	uint64_t lo, hi;
	bool block;             // one allocation, given back
	const struct frame *by; // NULL: nobody gives it back
	uint64_t at; // what of it goes into the states of those that lose their stack; 0: not asked yet
};

// Does s live, with its stack there? Then the sequence under which that was so,
// else an odd one: the station of a dead one may be given to a new coroutine meanwhile.
static uint64_t lives_in(const struct ctp_state *s, const struct release *r)
{
	uint64_t seen = ctp_state_seen(s);
	bool lives = (s->life == CTP_SUSPENDED || s->life == CTP_CREATED) && s->lo < r->hi && s->hi > r->lo &&
		     !(s->flags & CTP_STATE_STACK_FREED);
	return lives && !ctp_state_retry(s, seen) ? seen : 1;
}

void coroutine_destroy(struct thread_ctx *g, struct ctp_state *s, enum ctp_how how, uint64_t seen)
{
	if (!ctp_state_take(s, seen))
		return;
	if (s->life == CTP_SUSPENDED && how == CTP_HOW_REUSED)
		g->thread->reused++;
	s->flags |= CTP_STATE_STACK_FREED;
	state_private(s)->before = s->life | (uint32_t)s->how << 8; // what it was, should it live on
	s->tried = s->life == CTP_SUSPENDED ? s->since : 0;
	s->life = CTP_DESTROYED;
	s->how = (uint8_t)how;
	uint64_t now = s->since = guest_now();
	ctp_state_end(s);
	coroutine_count_death(g, s, CTP_DESTROYED);
	emit_at(g, now, ctp_w1(CTP_EV_DESTROY, how, s->id), ctp_w2(guest_who(g), 0), 0);
	station_retire(s);
}

// The stack of `old` became part of another one.
static void superseded(struct ctp_state *old, void *arg)
{
	const struct release *r = arg;
	uint64_t seen = lives_in(old, r);
	if (!(old->flags & CTP_STATE_SHARED_STACK))
		coroutine_destroy(r->g, old, CTP_HOW_REUSED, seen);
}

void coroutine_superseded(struct thread_ctx *g, struct ctp_state *old)
{
	superseded(old, &(struct release){.g = g, .lo = old->lo - 1, .hi = old->hi + 1});
}

void release_claim(struct thread_ctx *g, struct ctp_state *s)
{
	stack_index_add_stack(s, superseded, &(struct release){.g = g, .lo = s->lo, .hi = s->hi});
}

void release_revive(struct thread_ctx *g, const struct ctp_state *s)
{
	uint32_t n = station_count();
	uint64_t lo = s->lo, hi = s->hi;
	for (uint32_t i = 1; i <= n; i++) {
		struct ctp_state *o = station_at(i);
		if (!o || o->owner != CTP_OWNER_GUEST || o->lo != lo || o->hi != hi ||
		    o->entity != CTP_COROUTINE)
			continue;
		ctp_state_begin(o);
		o->flags |= CTP_STATE_SHARED_STACK;
		if (o->life == CTP_DESTROYED && o->how == CTP_HOW_REUSED) {
			o->life = (uint8_t)state_private(o)->before;
			o->how = (uint8_t)(state_private(o)->before >> 8);
			o->flags &= ~CTP_STATE_STACK_FREED;
			g->thread->destroyed--;
			if (o->life == CTP_SUSPENDED)
				g->thread->reused--;
		}
		ctp_state_end(o);
	}
}

// Who took its stack, and where: for whoever enters it nevertheless.
static void note_release(struct ctp_state *s, struct release *r)
{
	if (!r->at)
		r->at = (r->by ? guest_stack(r->g, r->by) : 0) | (r->block ? RELEASED_BLOCK : 0) |
			RELEASE_ASKED;
	state_private(s)->release_lo = r->lo;
	state_private(s)->release_hi = r->hi;
	state_private(s)->release_by = guest_who(r->g);
	state_private(s)->release_at = r->at;
}

static void released(struct ctp_state *s, void *arg)
{
	struct release *r = arg;
	uint64_t seen = ctp_state_seen(s);
	bool lives = s->life == CTP_SUSPENDED || s->life == CTP_CREATED;
	bool open = s->lo == s->hi,
	     begins = open && s->hi > r->lo && s->hi <= r->hi; // its lower end is not known
	bool slot = lives && (begins || (s->slot >= r->lo && s->slot < r->hi && (r->block || open)));
	if (r->block && s->slot >= r->lo && s->slot < r->hi &&
	    (s->entity == CTP_NATIVE || s->life == CTP_RUNNING))
		s->slot = 0; // it lives on, but what it left there is gone
	if (!slot)
		seen = lives_in(s, r);
	if (lives && s->entity == CTP_COROUTINE && s != r->g->current && !(seen & 1))
		note_release(s, r);
	if (s->entity == CTP_COROUTINE && s != r->g->current)
		coroutine_destroy(r->g, s, CTP_HOW_RELEASED, seen);
}

void coroutine_released(struct thread_ctx *g, uint64_t lo, uint64_t hi, bool block, const struct frame *by)
{
	struct release r = {g, lo, hi, block, by, 0};
	stack_index_range(lo, hi, true, released, &r);
}

// Below where it stands, a stack may be wiped while it lives.
static void wiped(struct ctp_state *s, void *arg)
{
	const struct release *r = arg;
	uint64_t sp = s->life == CTP_CREATED ? s->hi - 8 : s->regs[CTP_REG_SP];
	if (sp >= r->lo && sp < r->hi)
		released(s, arg);
}

void coroutine_wiped(struct thread_ctx *g, uint64_t lo, uint64_t hi, const struct frame *by)
{
	stack_index_range(lo, hi, true, wiped, &(struct release){g, lo, hi, false, by, 0});
}
