// SPDX-License-Identifier: MIT
//
// coroutine.h - the life of a coroutine: created, switched to, returned, released. All ways to
// switch end in these calls.
#pragma once

#include "cpu.h"
#include "preload/guest/guest.h"
#include "preload/coroutine/handle_cache.h"

// A context as an engine describes it before it is entered.
struct target {
	uint64_t slot;   // where it was saved; the key if stacks are shared by copying
	uint64_t sp, pc; // where it will go on
};

// How far below its top a thread's own stack is taken to go.
#define COROUTINE_NATIVE_REACH (8ULL << 20)

// Whether s has `sp` in its stack, as far as its bounds are known.
static inline bool coroutine_holds(const struct ctp_state *s, uint64_t sp)
{
	if (s->entity == CTP_NATIVE)
		return sp <= s->hi && s->hi - sp < COROUTINE_NATIVE_REACH;
	return s->lo < s->hi && sp - s->lo <= s->hi - s->lo;
}

// The entity that `t` resumes: never NULL, an unknown one is discovered.
struct ctp_state *coroutine_find_slow(struct thread_ctx *g, const struct target *t);

// The same, quickly: who saved itself there last and is suspended since.
static inline struct ctp_state *coroutine_find(struct thread_ctx *g, const struct target *t)
{
	struct ctp_state *s = handle_cache_find(t->slot);
	if (CTP_LIKELY(s->slot == t->slot && s->life == CTP_SUSPENDED && coroutine_holds(s, t->sp)))
		return s;
	return coroutine_find_slow(g, t);
}

// Whether `sp` lies in the thread's own stack, or the stack of nobody known.
bool coroutine_native_has(const struct thread_ctx *g, uint64_t sp);

// True once any coroutine was created or discovered: until then nothing can be released.
bool coroutine_any(void);

// A new coroutine on [lo, hi) that will begin at `entry`. NULL: no memory. lo = hi:
// how far down its stack goes is not known.
struct ctp_state *coroutine_make(struct thread_ctx *g, uint64_t lo, uint64_t hi, uint64_t entry,
				 uint64_t slot);

// Another has begun on the stack of `old`.
void coroutine_superseded(struct thread_ctx *g, struct ctp_state *old);

// Control is about to pass from g->current to `to`. `slot`: where the outgoing coroutine
// saves itself now (swapcontext, Boost.Context). g->regs holds the outgoing coroutine's registers.
void coroutine_switch(struct thread_ctx *g, struct ctp_state *to, enum ctp_how how, uint64_t slot);

// The same where the outgoing coroutine saved itself before (setcontext, longjmp), if at all:
// else it is gone for good.
void coroutine_leave(struct thread_ctx *g, struct ctp_state *to, enum ctp_how how);

// A switch was not seen, or cannot be recorded.
void coroutine_missed(struct thread_ctx *g);

// The running coroutine's function returned and nobody goes on.
void coroutine_ends(struct thread_ctx *g);

// [lo, hi) was given back: entities whose stack or save slot (blocks: [lo, hi)
// is one allocation) lay there are gone. `by`: where it is given back; NULL: it is only used anew.
void coroutine_released(struct thread_ctx *g, uint64_t lo, uint64_t hi, bool block, const struct frame *by);
// The same where [lo, hi) stays, but what was there is gone: a suspended entity whose frames begin there has
// no way back.
void coroutine_wiped(struct thread_ctx *g, uint64_t lo, uint64_t hi, const struct frame *by);

// coroutine_at(), of an address.
struct ctp_state *coroutine_search(uint64_t data);

// The coroutine that `data`, a registration's, seems to point to: into its stack,
// or next to where it saves itself. NULL if none. `data` need not be an address.
static inline struct ctp_state *coroutine_at(uint64_t data)
{
	return !(data >> 16) || data >> CPU_ADDRESS_BITS ? NULL : coroutine_search(data);
}

void coroutine_thread_ends(struct thread_ctx *g);

// ------------------------------------------------------------- for hook_announce.c

// The address above all frames of the stack of s, which runs here.
static inline uint64_t coroutine_stack_top(const struct thread_ctx *g, const struct ctp_state *s)
{
	return s->entity == CTP_COROUTINE ? s->hi & ~15ULL : g->native_top;
}

// Gives the thread's own stack a station and an id: it is about to switch.
void coroutine_name_native(struct thread_ctx *g);
// Counts that s, which has just ended, did.
void coroutine_count_death(struct thread_ctx *g, struct ctp_state *s, enum ctp_life life);
// A suspended or created entity lost its stack. `seen`: as of when that was seen;
// who writes its state meanwhile knows better.
void coroutine_destroy(struct thread_ctx *g, struct ctp_state *s, enum ctp_how how, uint64_t seen);
// Enters its stack, if its bounds are known, and its slot into the index.
void coroutine_index(struct thread_ctx *g, struct ctp_state *s);
// There is one: from now on stacks that are released are looked up.
void coroutine_note_any(void);
