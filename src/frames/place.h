// SPDX-License-Identifier: MIT
//
// place.h - the function, file and line at which a coroutine is suspended.
#pragma once

#include "frames/pairs.h"
#include "symbols/symbols.h"

struct place_code { // of one state of one coroutine function; 0: not known
	enum pair_maker maker;
	uint64_t resume;
	uint64_t landing, store; // dispatch.h
	const char *symbol;      // of the pair; NULL: not known
	bool initial;            // it was never started,
	bool may_be_initial;     // or so it is if the line is the function's own
};

struct place {
	struct symbols_frame frame; // its strings are the resolver's, but for `symbol`, which is to be freed
	bool initial;               // it was never started
};

// 0 or -ENOMEM.
int place_find(struct place *out, struct symbols *s, const struct place_code *c);
void place_deinit(struct place *p);
