// SPDX-License-Identifier: MIT
//
// opaque.h - may a coroutine to which nothing leads be kept in a form that nobody can search for?
#pragma once

#include "engine/inspect/inspect.h"
#include "search/search.h"

struct opaque {
	uint64_t words;  // that may be such a form; 0: too few
	uint64_t first;  // where the first one lies; 0: not in memory
	uint64_t code;   // where code lies that was made at run time: whatever it does may lead to it; 0:
			 // nowhere
	const char *why; // it could not be told; NULL
};

// Once the graph of a search has been spread for the last time. apart: so many words were found elsewhere
// than in memory.
struct opaque opaque_find(const struct inspection *l, struct search *s, uint64_t apart);
