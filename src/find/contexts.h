// SPDX-License-Identifier: MIT
//
// contexts.h - the stackful coroutines of a process or a core file that was never traced.
#pragma once

#include "find/chain.h"
#include "find/shapes.h"

enum context_state { CONTEXT_SUSPENDED, CONTEXT_CREATED, CONTEXT_RUNNING };

// What speaks for a context, in bits.
enum context_evidence {
	CONTEXT_BEHIND_SWITCH = 1 << 0, // its return address lies behind a call of a switch
	CONTEXT_TOP_HOLDS = 1 << 1,     // that address still stands on its stack where the call put it
	CONTEXT_CHAIN_HOLDS = 1 << 2,   // each of its frames was called by the next one
	CONTEXT_BEGINS = 1 << 3,        // its stack begins where makecontext lets it begin
	CONTEXT_HELD = 1 << 4,          // a word outside of its stack holds its stack pointer
	CONTEXT_DECLARED = 1 << 5,      // its stack's bounds are those that it was made with
	CONTEXT_NEVER_RAN = 1 << 6,     // it is to begin where nobody has begun yet
	CONTEXT_THREAD_INSIDE = 1 << 7, // a thread's stack pointer lies in its stack
	CONTEXT_GUESSED = 1 << 8,       // a frame was found by its frame pointer alone
	CONTEXT_WEAK = 1 << 9, // its stack begins with a return address of 0, or with a function's own
};

struct context {
	uint64_t id; // its control block's address; valid for one listing
	enum context_state state;
	enum shape_kind kind;
	uint64_t entry;          // its first function; 0: not known
	uint64_t lo, hi;         // its stack; 0, 0: not known
	uint64_t regs[CTP_REGS]; // where it goes on
	size_t pcs, npcs;        // of contexts.pcs: return addresses, innermost first
	unsigned evidence;
	uint64_t function; // that it switches by; 0: not known
	enum site_kind how;
	uint32_t engine; // of sites.engines; UINT32_MAX: not known
	int tid;         // that runs it
	struct shape shape;
};

struct contexts {
	struct image *image;
	struct objects objects;
	struct sites sites;
	struct context *v; // by id
	size_t n, capacity;
	uint64_t *pcs;
	size_t npcs, pcs_capacity;
	size_t finished, freed, unsettled, on_cpu;
	uint64_t bytes;
	char partial[160];     // why not all was looked at; "": it was
	struct span_list free; // what malloc has back
};

// The image stays the caller's. 0 or -errno; to be given back after success alone.
int contexts_find(struct contexts *c, struct image *im);
void contexts_deinit(struct contexts *c);
