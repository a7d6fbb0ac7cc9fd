// SPDX-License-Identifier: MIT
//
// dispatch.h - how a coroutine's resume function decides where to go on, learned from its code.
#pragma once

#include "frames/machine.h"
#include "frames/pairs.h"

struct dispatch_code { // how the program's code is read
	size_t (*peek)(void *ctx, uint64_t at, void *to, size_t bytes);
	void *ctx;
};

struct dispatch_store { // an instruction that stores a state
	uint64_t value, at;
};

struct dispatch {
	bool known; // which field of the frame says where to go on: this one
	struct machine_field index;
	bool alone;                    // its function does not ask for it, as there is but one place to go on
	struct dispatch_store *stores; // in order of their code
	size_t n, room;
	struct dispatch_store *landings; // that were asked for: `at` is where it goes
	size_t nlandings, landings_room;
};

// What the code tells. 0 or -ENOMEM; that it tells nothing is no error.
int dispatch_learn(struct dispatch *d, const struct pair *p, const struct dispatch_code *code);
void dispatch_deinit(struct dispatch *d);
// Where the resume function goes for this state; 0: that cannot be told, or it goes nowhere. Each is asked of
// the code once.
uint64_t dispatch_landing(struct dispatch *d, const struct pair *p, const struct dispatch_code *code,
			  uint64_t value);
// The first instruction that stores this state, 0: none was found.
uint64_t dispatch_store(const struct dispatch *d, uint64_t value);
