// SPDX-License-Identifier: MIT
//
// known_waits.h - the suspension points at which the program was seen to keep a coroutine in a form that the
// search recognises. That nothing leads to a coroutine proves nothing where none of its kind was ever found.
#pragma once

#include "engine/stackless/awaiting.h"

struct known_waits {
	struct known_wait { // a function, and where in it; sorted
		uint64_t resume, index;
	} * v;
	size_t n, room;
	struct known_once { // one word was found that leads to one of them, so far behind its begin
		struct known_wait place;
		uint64_t offset, at;
	} * once;
	size_t nonce, once_room;
};

// Notes those that this search has found, and those to which a registration leads or led until its descriptor
// was closed. a->v has the answers; there it is noted of each whether its kind is known.
void known_waits_note(struct known_waits *k, struct awaiting *a, const struct inspection *l, struct graph *g);
bool known_waits_has(const struct known_waits *k, const struct stackless *s);
void known_waits_deinit(struct known_waits *k);
