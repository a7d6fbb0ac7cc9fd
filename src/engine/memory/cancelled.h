// SPDX-License-Identifier: MIT
//
// cancelled.h - suspects that were cancelled into a pool of the program's own.
#pragma once

#include "engine/inspect/inspect.h"
#include "search/graph.h"

// After graph_spread, with node i the memory of l->who[i], which are in the order of
// their ids: marks the suspects (`pooled`) to which nothing leads but the word that has them in a
// free list (free_list.h).
void cancelled_find(struct inspection *l, struct graph *g);
