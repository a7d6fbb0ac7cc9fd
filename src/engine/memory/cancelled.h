// SPDX-License-Identifier: MIT
//
// cancelled.h - suspects that were cancelled into a pool of the program's own.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/mark/graph.h"

// After graph_spread, with node i the memory of l->who[i], which are in the order of
// their ids: marks the suspects (`pooled`) to which nothing leads but the word that has them in a
// free list (free_list.h), and sets l->pools if that is known of all. False: there was no time for that.
bool cancelled_find(struct inspection *l, struct graph *g);

// Of these it may be said that they were cancelled: what they waited for has ended.
bool cancelled_may_be(const struct suspect *s);
