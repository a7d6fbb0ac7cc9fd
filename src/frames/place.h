// SPDX-License-Identifier: MIT
//
// place.h - the function, file and line at which a coroutine is suspended.
#pragma once

#include "symbols/suspension.h"

struct place {
	struct symbols_frame frame; // its strings are the resolver's, but for `symbol`, which is to be freed
	bool exact, initial;        // as in suspension.h
};

// `symbol`: of the pair; NULL: not known. 0 or -ENOMEM.
int place_find(struct place *out, struct symbols *s, const struct suspension *c, const char *symbol);
void place_deinit(struct place *p);
