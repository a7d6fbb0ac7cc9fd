// SPDX-License-Identifier: MIT
//
// stacks.h - naming a stack: the id of its frames, exact and cheap.
#pragma once

#include "preload/coroutine/thread_ctx.h"
#include "dwarf.h"
#include "preload/guest/guest.h"

// A word that must be as it was: at off bytes above the stack pointer. Return addresses
// are compared as they are, addresses on the stack as their distance from the stack pointer.
struct check {
	uint64_t val;
	uint64_t off;
};

// A stack, by what its walk depended on. From `plain` on it begins a cache line; three
// return addresses fit into that.
struct candidate {
	struct candidate *next;
	uint64_t depth;  // bytes from the stack pointer to the stack's top
	uint64_t pc;     // 0: counts for nothing any more
	uint64_t fp_val; // how far above the stack pointer the fp register must point
	uint32_t stack;
	bool fp; // fp_val counts
	uint64_t reserved;
	uint64_t plain; // pc, if nothing but return addresses must be as they were; else 0
	// Of checks, times two; -2: none. Return addresses come first, an even number, the innermost last:
	// they are compared from the last on, as stacks that begin alike end differently.
	int32_t last_absolute, last;
	struct check checks[];
};
static inline const struct check *stacks_check(const struct candidate *c, int64_t twice)
{
	return (const void *)((const char *)c->checks + twice * (int64_t)(sizeof(struct check) / 2));
}

// Whether the addresses on the stack that it depends on are as they were, and then the return addresses.
static inline bool stacks_frames_hold(const struct candidate *c, const struct frame *f)
{
	const struct check *absolute = stacks_check(c, c->last_absolute);
	if (c->fp && f->fp - f->sp != c->fp_val)
		return false;
	for (const struct check *k = stacks_check(c, c->last); k > absolute; k--)
		if (*(const uint64_t *)(f->sp + k->off) - f->sp != k->val)
			return false;
	return true;
}

static inline bool stacks_returns_hold(const struct candidate *c, const struct frame *f)
{
	for (int64_t twice = c->last_absolute; twice >= 0; twice -= 4) {
		const struct check *k = stacks_check(c, twice);
		if (dwarf_return_address(*(const uint64_t *)(f->sp + k[0].off)) != k[0].val ||
		    dwarf_return_address(*(const uint64_t *)(f->sp + k[-1].off)) != k[-1].val)
			return false;
	}
	return true;
}

static inline bool stacks_holds(const struct candidate *c, const struct frame *f)
{
	return stacks_frames_hold(c, f) && stacks_returns_hold(c, f);
}

// By a hash of place and depth, the first of a list. The fast path reads it, too.
extern struct candidate **stacks_buckets;

static inline struct candidate **stacks_bucket(uint64_t pc, uint64_t depth)
{
	return &stacks_buckets[(pc ^ depth << STACKS_DEPTH_SHIFT) * STACKS_FACTOR >> STACKS_SHIFT];
}

// Is nobody's: what an entity points to that has no candidate.
extern const struct candidate stacks_none;

// What names the stack whose innermost frame is `f`, if it was seen before; else NULL. It reads
// only the words on which the walk depends, so it may be called on the program's stack.
static inline const struct candidate *stacks_met(const struct frame *f, uint64_t top)
{
	uint64_t depth = top - f->sp;
	const struct candidate *c = ctp_load_ptr(stacks_bucket(f->pc, depth));
	while (c && (c->pc != f->pc || c->depth != depth || !stacks_holds(c, f)))
		c = c->next;
	return c;
}

// The same of one frame, and behind it the stack `callers`: no word in memory decides.
#define STACKS_BEHIND (1ULL << 63) // no depth
static inline const struct candidate *stacks_met_behind(uint64_t pc, uint32_t callers)
{
	return stacks_met(&(struct frame){.pc = pc}, STACKS_BEHIND | callers);
}

// What a hook's call from the same place found the time before: whoever runs is the same, stands there again,
// and all that the candidate depends on is as it was. NULL: guest_stack has to look further.
static inline __attribute__((always_inline)) const struct candidate *stacks_named(const struct thread_ctx *g,
										  const struct frame *f)
{
	const struct named_stack *n = &g->named[f->pc % GUEST_NAMED];
	const struct candidate *c = n->by;
	if (n->sp != f->sp || n->who != guest_who(g) || c->pc != f->pc)
		return NULL;
	bool plain = CTP_LIKELY(c->plain == f->pc); // it depends on return addresses alone
	return (plain || stacks_frames_hold(c, f)) && CTP_LIKELY(stacks_returns_hold(c, f)) ? c : NULL;
}

int stacks_init(void); // 0, or -1 if there is no memory

// The id of the stack whose innermost frame is `f`, on memory [f->sp, top).
// 0 if it is not known. *last: the caller's note of what this entity's stack was
// named by (it stays, if there is nothing to note); NULL if it keeps none.
uint32_t stacks_id(const struct frame *f, uint64_t top, uint64_t *last);

// Whether the entity suspends as it did the last time: the usual case, in line.
static inline bool stacks_again(const struct frame *f, uint64_t top, uint64_t last)
{
	const struct candidate *c = (const struct candidate *)last;
	return CTP_LIKELY(c->pc == f->pc && c->depth == top - f->sp && stacks_holds(c, f));
}

// The stack as a signal found it, whose memory may be unreadable, or used up. f->pc: one byte
// behind the instruction, as that of a return address is. *steps: callers found. Once per process: for its
// end.
uint32_t stacks_interrupted(const struct frame *f, uint64_t top, uint32_t *steps);
bool stacks_peek(uint64_t at, uint64_t *out); // a word that may not be there: by a system call
// How far from its top a stack pointer is taken to be of that stack, overflowed though it be.
#define STACKS_FAR (64ULL << 20)

// The id of the stack that is one frame, and behind it those of another stack (0: none).
uint32_t stacks_behind(uint64_t pc, uint32_t callers);

// The id of the stack of these frames, as return addresses; those of our own are left out.
uint32_t stacks_of(const uint64_t *pcs, uint32_t n);

// Forgets what was learned about code: after dlclose.
// How many frames a stack has, and where the innermost is; 0 for none.
uint32_t stacks_frames(uint32_t id, uint64_t *innermost);
void stacks_flush(void);
