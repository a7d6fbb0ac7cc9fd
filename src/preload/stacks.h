// SPDX-License-Identifier: MIT
//
// stacks.h - naming a stack: the id of its frames, exact and cheap.
#pragma once

#include "dwarf.h"
#include "guest.h"

// A word that must be as it was: at top - off (off 0: the fp register itself).
// Return addresses are compared as they are, addresses on the stack (`rel`) as
// their distance from the top.
struct check {
	uint64_t val;
	uint32_t off;
	uint32_t rel;
};
struct candidate {
	uint64_t pc, depth;
	struct candidate *next;
	uint32_t stack, time; // time: value of `flushes` when it was made
	uint16_t absolute, n; // of checks: the absolute ones come first
	bool guessed;
	struct check checks[];
};
static inline bool stacks_holds(const struct candidate *c, const struct frame *f, uint64_t top)
{
	const struct check *k = c->checks, *rel = k + c->absolute, *end = k + c->n;
	for (; k < rel; k++)
		if (dwarf_return_address(*(const uint64_t *)(top - k->off)) != k->val)
			return false;
	for (; k < end; k++)
		if (top - (k->off ? *(const uint64_t *)(top - k->off) : f->fp) != k->val)
			return false;
	return true;
}

// How often stacks_flush was called: a candidate of an older time counts for nothing.
extern uint32_t stacks_flushes;

int stacks_init(void); // 0, or -1 if there is no memory

// The id of the stack whose innermost frame is `f`, on memory [f->sp, top).
// 0 if it cannot be told. *guessed says that a frame had no CFI. *last: the
// caller's note of what this entity's stack was named by; NULL if it keeps none.
uint32_t stacks_id(const struct frame *f, uint64_t top, uint64_t *last, bool *guessed);

// The same, where the entity suspends as it did the last time: the usual case,
// in line. NULL: ask stacks_id.
static inline const struct candidate *stacks_again(const struct frame *f, uint64_t top, uint64_t last)
{
	const struct candidate *c = (const struct candidate *)last;
	if (CTP_LIKELY(c && c->time == stacks_flushes && c->pc == f->pc && c->depth == top - f->sp &&
		       stacks_holds(c, f, top)))
		return c;
	return NULL;
}

// The stack as a signal found it, whose memory may be unreadable, or used up. f->pc: one byte
// behind the instruction, as that of a return address is. *steps: callers found. Once per process: for its end.
uint32_t stacks_interrupted(const struct frame *f, uint64_t top, uint32_t *steps);
bool stacks_peek(uint64_t at, uint64_t *out); // a word that may not be there: by a system call
// How far from its top a stack pointer is taken to be of that stack, overflowed though it be.
#define STACKS_FAR (64ULL << 20)

// Forgets what was learned about code: after dlclose.
void stacks_flush(void);
