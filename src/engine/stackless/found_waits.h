// SPDX-License-Identifier: MIT
//
// found_waits.h - what one look says of how the program keeps its coroutines (known_waits.h), and since when
// each waits (seen_waits.h).
#pragma once

#include "engine/stackless/awaiting.h"
#include "engine/stackless/known_waits.h"
#include "engine/stackless/seen_waits.h"

struct found_waits {
	struct known_waits known;
	struct seen_waits seen;
};

// Notes those that this search has found, and those to which a registration leads or led until its descriptor
// was closed. a->v has the answers; there it is noted of each that is lost whether its kind is known, and of
// each that waits since when.
void found_waits_note(struct found_waits *f, struct awaiting *a, const struct inspection *l, struct graph *g);
// A look that could not tell what leads where: since when each waits, as its frame says. a->v has the rest as
// the last look that could tell has left it.
void found_waits_look(struct found_waits *f, struct awaiting *a, const struct inspection *l);
// Of a look that did not search for all words in disguise: does it tell of one, or cannot tell of one, of
// which no look with more time has told in the same wait; or which that one still found?
bool found_waits_news(const struct found_waits *f, const struct awaiting *a);
void found_waits_deinit(struct found_waits *f);
