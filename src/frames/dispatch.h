// SPDX-License-Identifier: MIT
//
// dispatch.h - how a coroutine's resume function decides where to go on, learned from its code.
#pragma once

#include "frames/machine.h"
#include "frames/pairs.h"
#include "symbols/suspension.h"

struct dispatch_code { // how the program's code is read
	size_t (*peek)(void *ctx, uint64_t at, void *to, size_t bytes);
	void *ctx;
};

struct dispatch_store { // an instruction that stores a state
	uint64_t value, at;
	bool ramp;                                        // it does not stand in the resume function
	bool alone;                                       // it stores nothing else
	bool by_register;                                 // one instruction may store several states so
	struct suspension_step behind[SUSPENSION_BEHIND]; // itself, and what follows it without a jump
	unsigned n;
};

struct dispatch_branch { // one that leads to such a store, before anything is called
	uint64_t value;
	uint64_t other;                                   // where its other side leads
	struct suspension_step before[SUSPENSION_BEFORE]; // what precedes it, and itself as the last one
	unsigned n;
};

struct dispatch_landing {
	uint64_t value, at;
	size_t branch; // a row of `branches`, from 1; 0: none
};

struct dispatch {
	bool known; // which field of the frame says where to go on: this one
	struct machine_field index;
	uint64_t asks;                 // the jump by it
	bool alone;                    // its function does not ask for it, as there is but one place to go on
	struct dispatch_store *stores; // in order of their code
	size_t n, room;
	struct dispatch_branch *branches;
	size_t nbranches, branches_room;
	struct dispatch_landing *landings; // that were asked for: `at` is where it goes
	size_t nlandings, landings_room;
};

// What the code tells. 0 or -ENOMEM; that it tells nothing is no error.
int dispatch_learn(struct dispatch *d, const struct pair *p, const struct dispatch_code *code);
void dispatch_deinit(struct dispatch *d);
// Where the resume function goes for this state; 0: that cannot be told, or it goes nowhere. Each is asked of
// the code once.
uint64_t dispatch_landing(struct dispatch *d, const struct pair *p, const struct dispatch_code *code,
			  uint64_t value);
// The first instruction that stores this state, NULL: none was found.
const struct dispatch_store *dispatch_store(const struct dispatch *d, uint64_t value);
// The branch that decides whether the coroutine suspends in this state, or goes on; NULL: none is known.
// After dispatch_landing.
const struct dispatch_branch *dispatch_branch(const struct dispatch *d, uint64_t value);
