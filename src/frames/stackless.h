// SPDX-License-Identifier: MIT
//
// stackless.h - the C++20 coroutines of a process or a core file: their frames, found in memory.
#pragma once

#include "frames/dispatch.h"
#include "frames/pairs.h"
#include "search/memory/memory.h"
#include "search/memory/span.h"

enum stackless_state {
	STACKLESS_SUSPENDED, // at a co_await or co_yield
	STACKLESS_INITIAL,   // never started
	STACKLESS_FINAL,     // it has come to its end, and its frame is kept
	STACKLESS_RUNNING,
	STACKLESS_DESTROYING, // its destroy function was called
	STACKLESS_ENDED,      // it may have ended: its frame lies in its caller's, and nobody confirms it
};
const char *stackless_state_name(enum stackless_state s);

#define STACKLESS_NONE UINT32_MAX

struct stackless {
	uint64_t at; // of the frame: what a std::coroutine_handle holds
	const struct pair *pair;
	uint32_t same; // that many functions fit: pair and those behind it
	enum stackless_state state;
	bool known; // `index` is the state that the frame holds, as its function numbers them
	uint64_t index;
	struct span block; // of the heap, that it begins, or lies in if it is nested; {0, 0}: no block of
			   // malloc's
	bool nested;       // it lies in its caller's frame
	bool unsure;       // the allocator's lists could not be read: it may be a remnant
	uint32_t awaits, awaited_by; // rows, or STACKLESS_NONE
	uint32_t promise_end;        // where its promise ends in the frame, at the latest; 0: not known
};

// Where a thread's stack is in use: what stands there tells which coroutines run.
struct stackless_stack {
	uint64_t sp, hi;
};

struct stackless_list {
	struct stackless *v; // by address
	size_t n, room;
	size_t remnants; // frames in memory that was freed
	size_t inside;   // words like a frame's, inside blocks that begin with something else
	// what follows is of the modules of this folder
	struct dispatch *learned; // by pair; of those that occur
	bool *is_learned;
	const struct pairs *pairs;
	struct dispatch_code code;
};

struct stackless_where {
	const struct memory *memory; // with mappings and deadline
	const struct pairs *pairs;
	struct dispatch_code code;
	const struct stackless_stack *stacks;
	size_t nstacks;
	const struct span *skip; // memory in which no frame can lie; sorted, disjoint
	size_t nskip;
};

// Finds all. 0; -EAGAIN, -EIO: memory could not be read, or not in time; -ENOMEM. *out is to be given back
// after success alone; pairs, code and memory must outlive it.
int stackless_find(struct stackless_list *out, const struct stackless_where *w);
void stackless_deinit(struct stackless_list *l);
// What the function of this pair does with its state; NULL: no memory.
struct dispatch *stackless_dispatch(struct stackless_list *l, const struct pair *p);
// What its code says about where it is suspended.
struct suspension stackless_at(struct stackless_list *l, const struct stackless *s);
// Is it at the first suspension that Clang numbers, which is the initial one of most coroutines?
bool stackless_may_be_initial(const struct stackless *s);
uint32_t stackless_row(const struct stackless_list *l, uint64_t at); // or STACKLESS_NONE
