// SPDX-License-Identifier: MIT
//
// stack_ends.h - the end of one stack is often the start of the next mapping. Which words that
// look like the end of a piece mean what begins there?
#pragma once

#include "search/memory/memory.h"
#include "search/memory/piece.h"

// A coroutine that may lie behind a piece.
struct stack_ends_coroutine {
	struct span stack, block; // as declared; the mmap call that holds it
	struct span context;      // where its context was saved; {0, 0}: not known
	uint64_t handle; // by which it is resumed, if that is where it lies on its stack; 0: another way
};

struct stack_ends_thread {
	int tid;
	uint64_t sp;
};

// A word in `by` that holds `at` means what begins there, not what ends there;
// so does one in a block of the heap that holds the handle of what begins there.
struct stack_end {
	uint64_t at;
	struct span by;
	uint64_t handle; // 0: none is known
};

struct stack_ends {
	struct stack_end *v; // sorted, after stack_ends_find
	size_t n, room;
	// what follows is stack_ends.c's
	const struct memory *memory;
	const struct search_piece *pieces;
	size_t npieces, nends, nstacks;
	uint64_t *ends, *stacks;
};

// The pieces stay the caller's, and where they are.
void stack_ends_init(struct stack_ends *e, const struct memory *m, const struct search_piece *v, size_t n);
// Does a piece end there? Coroutines whose stack or block does not begin so need not be told.
bool stack_ends_wants(const struct stack_ends *e, uint64_t lo);
void stack_ends_coroutine(struct stack_ends *e, const struct stack_ends_coroutine *c);
// To be called once all coroutines were told. t: all threads.
void stack_ends_find(struct stack_ends *e, const struct stack_ends_thread *t, size_t n);
void stack_ends_deinit(struct stack_ends *e);

// Does the word at `at`, which holds the end `address`, mean something else?
bool stack_ends_explain(const struct stack_ends *e, uint64_t at, uint64_t address);
// Could it be explained by the block of the heap it lies in? Is it?
bool stack_ends_may_explain(const struct stack_ends *e, uint64_t address);
bool stack_ends_explain_in(const struct stack_ends *e, struct span block, uint64_t address);
